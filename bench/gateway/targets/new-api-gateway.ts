/**
 * new-api, a gateway with accounts: every key has a quota, and every request is priced, deducted and logged. It runs on
 * SQLite, and on a PostgreSQL of its own that shares the measured processor as Tollgate's does. Its defaults are
 * unchanged: it writes with every request.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { systemClock } from "../../../gateway/src/base/clock.ts";
import { createErrorLog } from "../../../gateway/src/base/log.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../../gateway/src/db/private-postgres.ts";
import { buildBinaryOnce, buildFromModifiedSources, cacheFolder } from "../../../tools/go-builds.ts";
import { BenchProcess } from "../bench-process.ts";
import { FAKE_MODEL } from "../fake-engine.ts";
import {
  createRelayTarget,
  type StartTarget,
  type Target,
  type TargetOptions,
  TargetUnavailable,
  waitUntilListening,
} from "./target.ts";

/** The newest version whose checksum is in Go's checksum database. */
const VERSION = "0.10.0";
const BINARY = join(cacheFolder("peers"), `new-api-${VERSION}`);

/**
 * The cost of a token in new-api's own unit, and the first user's quota. new-api trusts a user with more than 5 million
 * units and reserves nothing before a request.
 */
const RATIO = 0.1;
const QUOTA = 100_000_000;
/** The maximum number of new-api's database connections. Tollgate's gateway allows 50. */
const CONNECTIONS_MAX = 40;
const PASSWORD = "bench-password";

export const newApi: StartTarget = (surroundings) => start("new-api", surroundings);

export const newApiPostgres: StartTarget = (surroundings) => start("new-api-postgres", surroundings, startPostgres);

async function start(
  name: string,
  surroundings: TargetOptions,
  database?: (dataDir: string, surroundings: TargetOptions) => Promise<PrivatePostgres>,
): Promise<Target> {
  const { processors, outDir, engine } = surroundings;
  const why = await buildBinaryOnce(BINARY, "new-api", build);
  if (why !== undefined) throw new TargetUnavailable(why);
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-bench-"));
  // If the bench runs as root, the database runs as another user, who needs permission to enter the directory.
  chmodSync(dataDir, 0o711);
  let [child, postgres]: [BenchProcess?, PrivatePostgres?] = [];
  const stop = async (): Promise<void> => {
    await child?.stop();
    await postgres?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    postgres = await database?.(dataDir, surroundings);
    const port = await findFreePort();
    child = new BenchProcess({
      name,
      command: [BINARY, "--log-dir", ""],
      processors: processors.measured,
      outDir,
      cwd: dataDir,
      env: { PORT: String(port), SESSION_SECRET: "bench", ...databaseSettings(dataDir, postgres) },
    });
    await waitUntilListening(child, port);
    const key = await setUp(`http://127.0.0.1:${port}/api`, engine.url);
    const target = createRelayTarget(name, child, {
      port,
      version: VERSION,
      headers: { authorization: `Bearer sk-${key}` },
    });
    const books = postgres === undefined ? {} : { postgres: { pid: postgres.pid, withChildren: true } };
    return { ...target, parts: { ...target.parts, ...books }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * The module does not contain the web pages, which the bench does not need. The listener is changed to loopback,
 * because it would use every address of the machine.
 */
const build = buildFromModifiedSources(
  { module: "github.com/QuantumNous/new-api", version: `v${VERSION}`, binary: "new-api" },
  (sources) => {
    mkdirSync(join(sources, "web/dist"));
    writeFileSync(join(sources, "web/dist/index.html"), "<!doctype html>");
    const main = join(sources, "main.go");
    const [everywhere, onLoopback] = ['server.Run(":" + port)', 'server.Run("127.0.0.1:" + port)'];
    const text = readFileSync(main, "utf8");
    if (!text.includes(everywhere)) throw new Error("new-api does not listen where it did");
    writeFileSync(main, text.replace(everywhere, onLoopback));
  },
);

function databaseSettings(dataDir: string, postgres: PrivatePostgres | undefined): Record<string, string> {
  if (postgres === undefined) return { SQLITE_PATH: `${join(dataDir, "new-api.db")}?_busy_timeout=30000` };
  const { host, port, user, database } = postgres.connection;
  const place = `host=${encodeURIComponent(host)}&port=${port}`;
  const most = { SQL_MAX_OPEN_CONNS: String(CONNECTIONS_MAX), SQL_MAX_IDLE_CONNS: String(CONNECTIONS_MAX) };
  return { SQL_DSN: `postgresql://${user}@/${database}?${place}`, ...most };
}

/** The same PostgreSQL and settings as Tollgate's, moved to the measured processor with all its processes. */
async function startPostgres(dataDir: string, { processors }: TargetOptions): Promise<PrivatePostgres> {
  const postgres = await startPrivatePostgres({ dataDir, log: createErrorLog("warn"), clock: systemClock });
  if (processors.measured === null) return postgres;
  const children = readFileSync(`/proc/${postgres.pid}/task/${postgres.pid}/children`, "utf8").trim().split(" ");
  for (const pid of [String(postgres.pid), ...children]) {
    execFileSync("taskset", ["-acp", processors.measured, pid], { stdio: "ignore" });
  }
  return postgres;
}

/** Creates an administrator, the engine as a channel, a price, and a key with a quota. Returns the key. */
async function setUp(api: string, engineUrl: string): Promise<string> {
  let cookie = "";
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(`${api}${path}`, {
      method,
      headers: { "content-type": "application/json", "new-api-user": "1", cookie },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? cookie;
    const { success, message, data } = (await answer.json()) as { success: boolean; message: string; data: T };
    if (!success) throw new Error(`new-api refuses ${path}: ${message}`);
    return data;
  };
  const user = { username: "bench", password: PASSWORD };
  await ask("POST", "/setup", { ...user, confirmPassword: PASSWORD });
  await ask("POST", "/user/login", user);
  const ratios = { [FAKE_MODEL]: RATIO };
  await ask("PUT", "/option/", { key: "ModelRatio", value: JSON.stringify(ratios) });
  await ask("POST", "/channel/", {
    mode: "single",
    channel: { type: 1, name: "engine", key: "none", base_url: engineUrl, models: FAKE_MODEL, group: "default" },
  });
  await ask("POST", "/token/", { name: "bench", expired_time: -1, remain_quota: QUOTA, unlimited_quota: false });
  const { items } = await ask<{ items: { key: string }[] }>("GET", "/token/?p=1&size=1");
  return items[0]?.key ?? "";
}
