/**
 * Measures what one request costs each part of a distributed platform: gateway, PostgreSQL, NATS, Valkey and agent, in
 * processor time, messages and bytes. The tables of docs/scale.md are computed from it.
 *
 * Processes are not pinned to processors; a scripted engine answers inside the agent.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createDataDir,
  type Platform,
  removeDataDir,
  runTollgate,
  startPlatform,
} from "@tollgate/stage/dev-platform.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { PRIVATE_DATABASE_ENV } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";
import { findValkeyServer, sendValkeyCommand, startValkeyServer } from "../../gateway/src/limits/testing-limits.ts";
import { findNatsServer } from "../../gateway/src/plane/nats/testing-nats-server.ts";
import { repeatRequest } from "../gateway/client-connection.ts";
import { cpuSpentUs, readCpuTime, type WatchedProcess } from "../gateway/process-resource-usage.ts";

const TOLLGATE_HOST = fileURLToPath(new URL("../../host/bin/tollgate-host.mjs", import.meta.url));
const MODEL = "tiny-3b";
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 10);
const CONCURRENT = Number(process.env["BENCH_CONCURRENT"] ?? 64);

interface Scenario {
  name: string;
  path: string;
  body: object;
}

const script = (orders: object) => [{ role: "user", content: `#script ${JSON.stringify(orders)}` }];
const SCENARIOS: Scenario[] = [
  {
    name: "chat, 100 tokens, whole",
    path: "/v1/chat/completions",
    body: { model: MODEL, messages: script({ tokens: 100 }) },
  },
  {
    name: "chat, 100 tokens, streamed",
    path: "/v1/chat/completions",
    body: { model: MODEL, stream: true, messages: script({ tokens: 100 }) },
  },
  {
    name: "chat, 100 tokens, streamed at 50 a second",
    path: "/v1/chat/completions",
    body: { model: MODEL, stream: true, messages: script({ tokens: 100, delta_ms: 20 }) },
  },
];

/** Counters that only increase; the difference of two readings belongs to the requests between them. */
type Sight = Record<string, number>;

const nats = findNatsServer();
const valkey = findValkeyServer();
if (nats === undefined || valkey === undefined) {
  console.error("nats-server and valkey-server or redis-server have to be installed for this.");
  process.exit(1);
}

const place = await mkdtemp(join(tmpdir(), "tollgate-parts-"));
const dataDir = await createDataDir();
const [port, monitor] = [await findFreePort(), await findFreePort()];
const init = runTollgate(["admin", "plane", "init", "--dir", place, "--url", `nats://127.0.0.1:${port}`, "--json"]);
if ((await init.ended) !== 0) throw new Error(init.output());
await appendFile(join(place, "nats-server.conf"), `\nhttp: "127.0.0.1:${monitor}"\n`);
const plane = spawn(nats, ["-c", "nats-server.conf"], { cwd: place, stdio: "ignore" });
const counts = await startValkeyServer(valkey);
let platform: Platform | undefined;
let agent: ChildProcess | undefined;
try {
  await eventually("nats-server tells of itself", () => lookAtNats().then(Boolean, () => false));
  const lines = (await readFile(join(place, "gateway.env"), "utf8")).trimEnd().split("\n");
  const onPlane = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  const roomy = { admission_max: 100_000, tps_max: 1_000_000_000 };
  platform = await startPlatform(dataDir, ["--no-node"], {
    ...PRIVATE_DATABASE_ENV,
    ...onPlane,
    VALKEY_URL: counts.url,
    CATALOGUE_FILE: await writeCatalogue(dataDir, { [MODEL]: roomy }),
    LOG_LEVEL: "warn",
  });
  await platform.query(
    "update api_key set in_flight_max = 100000, requests_per_minute_max = 100000000, tokens_per_minute_max = 1000000000000",
  );
  agent = await startAgent(platform);
  console.log(`${CONCURRENT} at once, ${SECONDS} s each; per request`);
  for (const scenario of SCENARIOS) {
    await ask(platform, scenario, 1);
    report(scenario.name, await measure(platform, agent, scenario));
  }
} finally {
  agent?.kill();
  await platform?.stop();
  plane.kill();
  await counts.kill();
  await removeDataDir(dataDir);
  await rm(place, { recursive: true, force: true });
}

async function startAgent({ ready }: Platform): Promise<ChildProcess> {
  const flags = ["--gateway", ready.gateway_url, "--name", "parts", "--slots", "2048", "--engine", "scripted"];
  const child = spawn(process.execPath, [TOLLGATE_HOST, "up", ...flags, "--models", MODEL], {
    env: { ...process.env, TOLLGATE_HOST_TOKEN: ready.host_token },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the agent ended with ${code}`)));
    child.on("message", (message: { type?: string }) => message.type === "online" && resolve());
  });
  return child;
}

/** Sends requests one after the other on each connection, and returns how many got a complete answer. */
function ask({ ready }: Platform, { path, body }: Scenario, seconds: number): Promise<number> {
  const text = JSON.stringify(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: bench",
    `authorization: Bearer ${ready.api_key}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(text)}`,
  ];
  const request = Buffer.from(`${head.join("\r\n")}\r\n\r\n${text}`);
  const port = Number(new URL(ready.gateway_url).port);
  return repeatRequest(request, { port, connections: CONCURRENT, seconds });
}

async function measure(running: Platform, host: ChildProcess, scenario: Scenario): Promise<Sight> {
  const look = async (): Promise<Sight> => ({
    ...processorTimes(running, host, await valkeyInfo("server", "process_id")),
    ...(await lookAtNats()),
    "Valkey, commands": await valkeyInfo("stats", "total_commands_processed"),
    ...(await lookAtPostgres(running)),
  });
  const before = await look();
  const startedAt = performance.now();
  const answered = await ask(running, scenario, SECONDS);
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await look();
  const each = Object.entries(after).map(([name, value]) => [name, (value - (before[name] ?? 0)) / answered]);
  return { "requests a second": answered / seconds, ...Object.fromEntries(each) };
}

/** Returns the processor time of each process in microseconds. */
function processorTimes({ ready: { pids } }: Platform, host: ChildProcess, limits: number): Sight {
  const parts: Record<string, WatchedProcess> = {
    gateway: { pid: pids.gateway, withChildren: false },
    PostgreSQL: { pid: pids.postgres as number, withChildren: true },
    NATS: { pid: plane.pid as number, withChildren: false },
    Valkey: { pid: limits, withChildren: false },
    agent: { pid: host.pid as number, withChildren: false },
  };
  const none = { ticksUs: 0, exactUs: 0 };
  return Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [`${name}, µs of processor`, cpuSpentUs(none, readCpuTime(part))]),
  );
}

async function lookAtNats(): Promise<Sight> {
  const seen = await (await fetch(`http://127.0.0.1:${monitor}/varz`)).json();
  const { in_msgs, out_msgs, in_bytes, out_bytes } = seen as Record<string, number>;
  return {
    "NATS, messages in": in_msgs ?? 0,
    "NATS, messages out": out_msgs ?? 0,
    "NATS, bytes": (in_bytes ?? 0) + (out_bytes ?? 0),
  };
}

async function valkeyInfo(section: string, field: string): Promise<number> {
  const told = String(await sendValkeyCommand(counts.url, "INFO", section));
  return Number(new RegExp(`^${field}:(\\d+)`, "m").exec(told)?.[1]);
}

async function lookAtPostgres({ query }: Platform): Promise<Sight> {
  const [row] = await query<{ wal: string; size: string; commits: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal, pg_database_size(current_database()) as size,
            (select xact_commit from pg_stat_database where datname = current_database()) as commits`,
  );
  return {
    "PostgreSQL, bytes of WAL": Number(row?.wal),
    "PostgreSQL, bytes kept": Number(row?.size),
    "PostgreSQL, commits": Number(row?.commits),
  };
}

function report(name: string, figures: Sight): void {
  console.log(`\n${name}`);
  for (const [what, value] of Object.entries(figures)) {
    const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    console.log(`  ${what.padEnd(28)}${value.toFixed(digits).padStart(10)}`);
  }
}
