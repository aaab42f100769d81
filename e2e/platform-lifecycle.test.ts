/**
 * Tests starting, stopping, crashing and restarting a platform: the terminal's output, and the processes and data that
 * remain.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import {
  createDataDir,
  isAlive,
  type Platform,
  removeDataDir,
  runTollgate,
  startPlatform,
} from "@tollgate/stage/dev-platform.ts";
import { REPOSITORY_ROOT, startGatewayProcess } from "@tollgate/stage/gateway-process.ts";
import { assertBalanced, readBuilderAccount } from "@tollgate/stage/ledger-check.ts";
import { findDatabase, openDatabase, PRIVATE_DATABASE_ENV } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";

const FLAGS = ["--engine", "scripted", "--models", "tiny-3b"];

const processes = ({ ready: { pids } }: Platform): number[] => [pids.gateway, pids.postgres as number, ...pids.nodes];
const allGone = (pids: number[]) => eventually("every process has ended", () => pids.every((pid) => !isAlive(pid)));

/** These tests run in order on the same data directory, because starting its private database takes seconds. */
describe("starting, stopping and restarting a platform", () => {
  let dataDir: string;
  let platform: Platform;
  before(async () => {
    dataDir = await createDataDir();
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await allGone(processes(platform));
    await removeDataDir(dataDir);
  });

  const start = async (): Promise<Platform> => {
    platform = await startPlatform(dataDir, FLAGS, PRIVATE_DATABASE_ENV);
    return platform;
  };

  test("Ctrl-C stops everything, and the next start continues with the same data", async () => {
    const first = await start();
    assert.match(first.output(), /Tollgate is ready/);
    assert.match(first.output(), /curl -N/);
    const { base_url, gateway_url } = first.ready;
    assert.equal(base_url, `${gateway_url}/v1`);
    assert.ok(first.output().includes(`Base URL  ${base_url}\n`), first.output());
    assert.equal((await sendScriptedChat(first, { text: "hello" })).status, 200);
    const { balance } = await readBuilderAccount(first);
    assert.ok(balance < 5_000_000_000_000n);
    assert.equal(await first.stop(), 0);
    await allGone(processes(first));

    const second = await start();
    assert.equal(second.ready.api_key, first.ready.api_key);
    assert.equal((await readBuilderAccount(second)).balance, balance);
    assert.equal((await sendScriptedChat(second, { text: "again" })).status, 200);
    await assertBalanced(second);
  });

  test("a second platform on the same data directory is refused with a one-line message, and the first keeps running", async () => {
    const second = runTollgate(["dev", "--port", "0", "--data", dataDir, ...FLAGS]);
    assert.equal(await second.ended, 1);
    assert.match(complaint(second.output()), new RegExp(`${platform.ready.pids.gateway}`));
    assert.equal((await sendScriptedChat(platform, { text: "still here" })).status, 200);
  });

  test("after kill -9 during a stream, the next start serves, charges nothing twice and leaves no old process", async () => {
    const first = platform;
    const stream = await sendScriptedChat(first, { tokens: 100_000, delta_ms: 100 }, { stream: true });
    const reader = stream.body?.getReader();
    await reader?.read();
    assert.ok((await readBuilderAccount(first)).held > 0n);
    await first.kill();
    await assert.rejects(async () => {
      while (!(await reader?.read())?.done);
    });
    await allGone([first.ready.pids.gateway, ...first.ready.pids.nodes]);

    const second = await start();
    assert.equal(
      second.ready.pids.postgres,
      first.ready.pids.postgres,
      "the database that was left running is adopted",
    );
    assert.equal((await sendScriptedChat(second, { text: "alive" })).status, 200);
    await assertBalanced(second);
    // A lost request keeps its hold until the lease ends, so the test sets the lease's end to now. It repeats this,
    // because the first sweep may extend leases if none has run for a while.
    await eventually("the dead gateway's hold is given back", async () => {
      await second.query("update hold set expires_at = now() - interval '1 second'");
      return (await readBuilderAccount(second)).held === 0n;
    });
    const lost = await second.query("select charge_pico from request where outcome = 'gateway_lost'");
    assert.deepEqual(lost, [{ charge_pico: "0" }]);
    await assertBalanced(second);
  });

  test("a local node that dies is restarted and serves again", async () => {
    process.kill(platform.ready.pids.nodes[0] as number, "SIGKILL");
    await eventually(
      "the node is back",
      async () => (await sendScriptedChat(platform, { text: "back" })).status === 200,
    );
  });
});

describe("the start of a platform", () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await createDataDir();
  });
  afterEach(() => removeDataDir(dataDir));

  test("the ready file is written only after the screen shows that the platform is ready", async () => {
    const readyFile = join(dataDir, "ready.json");
    // The platform writes `ready.json.new` and then renames it to the ready file. The test makes `ready.json.new` a
    // named pipe, so that the platform blocks until the test reads it.
    await openDatabase(dataDir);
    const { status } = spawnSync("mkfifo", [`${readyFile}.new`]);
    assert.equal(status, 0, "mkfifo");
    const started = runTollgate(["dev", "--port", "0", "--data", dataDir, "--no-node", "--ready-file", readyFile]);
    const said = eventually("the screen says so", () => /Ctrl-C stops everything/.test(started.output()));
    const failure = await said.then(
      () => undefined,
      (error: Error) => error,
    );
    // Reads the pipe even after a failure, because otherwise the platform would block forever.
    const { pids } = JSON.parse(await readFile(`${readyFile}.new`, "utf8")) as Platform["ready"];
    process.kill(pids.gateway, "SIGINT");
    assert.equal(await started.ended, 0);
    assert.equal(failure, undefined);
  });

  test("health and metrics are served only on loopback, whatever address the API uses", async (t) => {
    if (process.platform !== "linux") return t.skip("127.0.0.2 is an address of its own on Linux alone");
    const platform = await startPlatform(dataDir, ["--no-node"], { HOST: "127.0.0.2" });
    assert.equal((await fetch(`${platform.ready.gateway_url}/v1/catalog/rates`)).status, 200);
    const log = await readFile(join(dataDir, "gateway.log"), "utf8");
    const port = /"internalPort":(\d+)/.exec(log)?.[1];
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
    await assert.rejects(fetch(`http://127.0.0.2:${port}/healthz`));
    assert.equal(await platform.stop(), 0);
  });

  test("the screen names a paused or quarantined local node and the remedy, and the platform becomes ready without it", async () => {
    const flags = [...FLAGS, "--nodes", "2"];
    const first = await startPlatform(dataDir, flags);
    const own = (platform: Platform, path = "", method = "GET") =>
      fetch(`${platform.ready.gateway_url}/node/v1/nodes${path}`, {
        method,
        headers: { authorization: `Bearer ${platform.ready.host_token}` },
      });
    const { data } = (await (await own(first)).json()) as { data: { id: string; name: string }[] };
    const idOf = (name: string): string => data.find((node) => node.name === name)?.id as string;
    const [one, two] = [idOf("local-1"), idOf("local-2")];
    assert.equal((await own(first, `/${one}/pause`, "POST")).status, 200);
    assert.equal(await first.stop(), 0);

    const second = await startPlatform(dataDir, flags);
    assert.match(second.output(), new RegExp(`local-1 is paused.*console/host/nodes/${one}`));
    assert.match(second.output(), /Tollgate is ready/);
    assert.equal(second.ready.pids.nodes.length, 2);
    assert.equal((await sendScriptedChat(second, { text: "by the other one" })).status, 200);
    const barring = runTollgate(["admin", "node", "quarantine", two, "--reason", "smoke", "--data", dataDir]);
    assert.equal(await barring.ended, 0, barring.output());
    assert.equal(await second.stop(), 0);

    const third = await startPlatform(dataDir, flags);
    assert.match(third.output(), /local-1 is paused/);
    assert.match(third.output(), new RegExp(`local-2 is in quarantine \\(smoke\\).*admin node release ${two}`));
    assert.equal((await sendScriptedChat(third, { text: "nobody" })).status, 503);
    assert.equal((await own(third, `/${one}/resume`, "POST")).status, 200);
    await eventually(
      "the resumed one serves",
      async () => (await sendScriptedChat(third, { text: "back" })).status === 200,
    );
    assert.equal(await third.stop(), 0);
  });
});

describe("a platform that has no operator yet", () => {
  let dataDir: string;
  before(async () => {
    dataDir = await createDataDir();
  });
  after(() => removeDataDir(dataDir));

  test("tollgate serve prints how to create the first operator, until one exists", async () => {
    const first = await startGatewayProcess(dataDir, {}, "first");
    const told =
      /"consoleUrl":"([^"]*)","msg":"No operator exists yet\. .*(tollgate admin operator create .*) --password -/;
    await eventually("the log says how", async () => told.test(await first.log()));
    const [, consoleUrl, command = ""] = told.exec(await first.log()) ?? [];
    assert.equal(consoleUrl, `${first.baseUrl}/console`);
    // Runs the command that was printed, with the settings of the running gateway, as an operator would.
    const [, ...args] = command.split(" ");
    const made = spawnSync(
      process.execPath,
      [join(REPOSITORY_ROOT, "gateway/bin/tollgate.mjs"), ...args, "--password", "-"],
      {
        env: { ...process.env, ...findDatabase(dataDir) },
        input: "a long password\n",
        encoding: "utf8",
      },
    );
    assert.equal(made.status, 0, made.stderr);
    assert.match(made.stdout, /you@example\.com is now an operator/);
    assert.equal(await first.stop(), 0);

    const second = await startGatewayProcess(dataDir, {}, "second");
    assert.equal(await second.stop(), 0);
    assert.doesNotMatch(await second.log(), /No operator/);
  });
});

describe("a failing start prints one line and exits with 1, or with 2 for invalid usage", () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await createDataDir();
  });
  afterEach(() => removeDataDir(dataDir));

  const refused = async (args: string[], env: Record<string, string> = {}, code = 1): Promise<string> => {
    const run = runTollgate(args, env);
    assert.equal(await run.ended, code, run.output());
    return complaint(run.output());
  };

  test("reports all invalid flags", async () => {
    const misused = (...args: string[]): Promise<string> => refused(args, {}, 2);
    const line = await misused("dev", "--port", "many", "--nodes=-3", "--data", dataDir);
    for (const flag of ["--port", "--nodes"]) assert.ok(line.includes(flag), line);
    assert.match(await misused("dev", "--engine", "steam"), /--engine must be one of auto, demo, scripted/);
    assert.match(await misused("dev", "--colour", "red"), /--colour/);
    assert.match(await misused("dev", "--data", dataDir, "--models", "tiny-3b,gpt-9"), /gpt-9/);
    assert.match(await misused("fly"), /no command 'fly'/);
    assert.match(await misused("serve", "--port", "80"), /no flag --port/);
  });

  test("reports all configuration errors", async () => {
    const line = await refused(["serve"], { PORT: "x", LOG_LEVEL: "loud", DATABASE_URL: "mysql://h/d" });
    for (const name of ["PORT", "LOG_LEVEL", "DATABASE_URL", "KEY_PEPPER"]) assert.ok(line.includes(name), line);
  });

  const taken = async (): Promise<{ server: Server; port: string }> => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    return { server, port: String((server.address() as { port: number }).port) };
  };

  const takenLine = (port: string, setting: string): string =>
    `error: Port ${port} on 127.0.0.1 is already in use. Next: choose another with ${setting}, or stop the program that uses the port`;

  test("reports the API's port if it is in use, and leaves no process running", async () => {
    const { server, port } = await taken();
    const line = await refused(["dev", "--port", port, "--data", dataDir, ...FLAGS]);
    assert.equal(line, takenLine(port, "--port"));
    server.close();
    const leftover = await readFile(join(dataDir, "postgres", "cluster", "postmaster.pid"), "utf8").catch(
      () => undefined,
    );
    assert.equal(leftover, undefined, "no database was left running");
  });

  test("reports a port in use for each listener, with the port and the setting to change", async () => {
    const { server, port } = await taken();
    const env = { ...(await openDatabase(dataDir)), DATA_DIR: dataDir };
    const free = { PORT: "0", INTERNAL_PORT: "0", PLANE_PORT: "0" };
    for (const setting of ["PORT", "INTERNAL_PORT", "PLANE_PORT"]) {
      const line = await refused(["serve"], { ...env, ...free, [setting]: port });
      assert.equal(line, takenLine(port, setting));
    }
    const line = await refused(["dev", "--port", "0", "--data", dataDir, ...FLAGS], { PLANE_PORT: port });
    assert.equal(line, takenLine(port, "PLANE_PORT"));
    server.close();
  });

  test("reports an address that this machine does not have, with the setting to change", async () => {
    const env = { ...(await openDatabase(dataDir)), DATA_DIR: dataDir, PORT: "0", INTERNAL_PORT: "0", PLANE_PORT: "0" };
    // 192.0.2.1 is reserved for documentation, so no machine has it.
    const settings = { HOST: { PLANE_HOST: "127.0.0.1" }, INTERNAL_HOST: {}, PLANE_HOST: {} };
    for (const [setting, others] of Object.entries(settings)) {
      const line = await refused(["serve"], { ...env, ...others, [setting]: "192.0.2.1" });
      assert.equal(line, `error: 192.0.2.1 is not an address of this machine. Next: change ${setting}`);
    }
  });

  test("reports a data directory that is not writable", async () => {
    const file = join(dataDir, "file");
    await writeFile(file, "");
    assert.match(
      await refused(["dev", "--port", "0", "--data", join(file, "data"), ...FLAGS]),
      /data directory .*file/i,
    );
    if (process.getuid?.() !== 0) {
      const locked = join(dataDir, "locked");
      await mkdir(locked);
      await chmod(locked, 0o500);
      assert.match(await refused(["dev", "--port", "0", "--data", join(locked, "data"), ...FLAGS]), /data directory/i);
    }
  });

  test("reports a damaged or missing catalogue", async () => {
    assert.match(
      await refused(["dev", "--port", "0", "--data", dataDir], { CATALOGUE_FILE: join(dataDir, "none.json") }),
      /none\.json cannot be read/,
    );
    const file = join(dataDir, "bad.json");
    await writeFile(file, "{");
    assert.match(
      await refused(["dev", "--port", "0", "--data", dataDir], { CATALOGUE_FILE: file }),
      /bad\.json is not valid JSON/,
    );
  });

  test("an admin command reports a directory without a database, and leaves the directory unchanged", async () => {
    const place = join(dataDir, "typo");
    assert.match(await refused(["admin", "ledger", "check", "--data", place]), /typo has no database/);
    await assert.rejects(readFile(place), { code: "ENOENT" });
    assert.match(await refused(["admin", "ledger", "chekc"], {}, 2), /no command 'admin ledger chekc'/);
    assert.match(await refused(["admin", "--colour"], {}, 2), /--colour/);
  });

  test("reports a missing model file", async () => {
    await openDatabase(dataDir);
    const line = await refused(["dev", "--port", "0", "--data", dataDir, "--engine", "demo"], {
      TOLLGATE_DEMO_MODEL: join(dataDir, "none.gguf"),
    });
    assert.match(line, /none\.gguf/);
  });
});

/** Returns the error message of a failed command, which must be its only line. */
function complaint(output: string): string {
  const lines = output.split("\n").filter((line) => line.startsWith("error: "));
  assert.equal(lines.length, 1, output);
  assert.ok(!output.includes("    at "), `a stack trace is no answer:\n${output}`);
  return lines[0] as string;
}
