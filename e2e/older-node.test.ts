/**
 * If the installed Node.js is too old for the sources, a command starts itself again in a second process with the
 * pinned Node.js. The second process gets the first one's signals, returns its exit code through the first, and does
 * not outlive it.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createDataDir, isAlive, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { openDatabase } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";

const TOLLGATE = fileURLToPath(new URL("../gateway/bin/tollgate.mjs", import.meta.url));
const HOST = fileURLToPath(new URL("../host/bin/tollgate-host.mjs", import.meta.url));
const older = findOlderNode();
const skip =
  process.platform !== "linux"
    ? "children are found in /proc"
    : older === undefined && "no Node older than 24 is installed";

/** Searches the PATH without node_modules, because that folder contains the pinned Node.js. */
function findOlderNode(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return folders
    .map((folder) => join(folder, "node"))
    .find((node) => {
      const { stdout } = spawnSync(node, ["-p", "process.versions.node"], { encoding: "utf8" });
      return Number.parseInt(stdout ?? "", 10) < 24;
    });
}

describe("commands started by an older Node.js", { skip }, () => {
  let dataDir: string;
  let env: Record<string, string>;
  before(async () => {
    dataDir = await createDataDir();
    const ports = { PORT: "0", INTERNAL_PORT: "0", PLANE_PORT: "0" };
    env = { ...(await openDatabase(dataDir)), ...ports, DATA_DIR: dataDir, DRAIN_DELAY_S: "0", LOG_LEVEL: "info" };
  });
  after(() => removeDataDir(dataDir));

  interface Run {
    child: ChildProcess;
    output: () => string;
    /** Returns the ID of the second process, which runs the command with the pinned Node.js. */
    worker: () => Promise<number>;
    /** Resolves with the exit code of the first process, once no process can write to the output any more. */
    ended: Promise<[number | null, NodeJS.Signals | null]>;
  }

  function run(t: TestContext, args: string[], more: Record<string, string> = {}): Run {
    const child = spawn(older as string, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env, ...more },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    let worker: number | undefined;
    const ended = new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
      child.once("close", (code, signal) => resolve([code, signal]));
    });
    t.after(() => {
      child.kill("SIGKILL");
      if (worker !== undefined && isAlive(worker)) process.kill(worker, "SIGKILL");
    });
    return {
      child,
      output: () => output,
      ended,
      async worker() {
        const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8");
        worker = Number.parseInt(children, 10);
        assert.ok(worker > 0, `the children are ${children}`);
        return worker;
      },
    };
  }
  const serve = async (t: TestContext): Promise<Run> => {
    const gateway = run(t, [TOLLGATE, "serve"]);
    await eventually("it serves", () => /"msg":"serving"/.test(gateway.output()));
    return gateway;
  };

  test("tollgate serve stops as on SIGTERM when the process that started it is killed", async (t) => {
    const gateway = await serve(t);
    const worker = await gateway.worker();
    gateway.child.kill("SIGKILL");
    await eventually("the gateway has gone", () => !isAlive(worker));
    assert.deepEqual(await gateway.ended, [null, "SIGKILL"]);
    assert.match(gateway.output(), /"msg":"stopped"/);
  });

  test("tollgate serve passes signals and the exit code on", async (t) => {
    const gateway = await serve(t);
    gateway.child.kill("SIGTERM");
    assert.deepEqual(await gateway.ended, [0, null]);
    assert.match(gateway.output(), /"msg":"stopped"/);
    const wrong = run(t, [TOLLGATE, "serve", "--flag"]);
    assert.deepEqual(await wrong.ended, [2, null]);
  });

  test("tollgate dev ends all of its processes when the process that started it is killed", async (t) => {
    const readyFile = join(dataDir, "older.json");
    const nodes = ["--engine", "scripted", "--models", "tiny-3b"];
    const platform = run(t, [TOLLGATE, "dev", "--port", "0", "--data", dataDir, "--ready-file", readyFile, ...nodes]);
    await eventually("it is ready", () => /Ctrl-C stops everything/.test(platform.output()));
    const worker = await platform.worker();
    const { pids } = await eventuallyRead(readyFile);
    assert.equal(pids.gateway, worker);
    platform.child.kill("SIGKILL");
    await eventually("gateway and node have gone", () => [worker, ...pids.nodes].every((pid) => !isAlive(pid)));
  });

  test("tollgate-host up stops as on SIGTERM when the process that started it is killed", async (t) => {
    const platform = await startPlatform(dataDir, ["--no-node"]);
    t.after(() => platform.stop());
    const { gateway_url: gateway, host_token: TOLLGATE_HOST_TOKEN } = platform.ready;
    const flags = ["--name", "older", "--engine", "scripted", "--models", "tiny-3b"];
    const agent = run(t, [HOST, "up", "--gateway", gateway, ...flags], { TOLLGATE_HOST_TOKEN });
    await eventually("it is online", () => /^online/m.test(agent.output()));
    const worker = await agent.worker();
    agent.child.kill("SIGKILL");
    await eventually("the agent has gone", () => !isAlive(worker));
    await agent.ended;
    assert.match(agent.output(), /stopped\n$/);
  });

  async function eventuallyRead(file: string): Promise<{ pids: { gateway: number; nodes: number[] } }> {
    let text = "";
    await eventually("the file is there", async () => {
      text = await readFile(file, "utf8").catch(() => "");
      return text !== "";
    });
    return JSON.parse(text);
  }
});
