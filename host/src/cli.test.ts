import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { runTollgateHost } from "./cli.ts";
import { openLoginFile } from "./command/login-file.ts";
import type { Supervisor } from "./command/service-supervisor.ts";
import { sendJson, stubServer, unusedAddress } from "./testing/stub-http.ts";
import { NATS_USER_SEED, type StubNats, stubNats } from "./testing/stub-nats.ts";

const BIN = fileURLToPath(new URL("../bin/tollgate-host.mjs", import.meta.url));
const TOKEN = "tht_live_abc_def";

/** A supervisor that handles none of this process's signals. */
const supervisor = (): Supervisor => ({
  hasParent: false,
  stopRequested: new Promise(() => {}),
  hurry: new AbortController().signal,
  tell: async () => {},
});

interface Run {
  child: ChildProcess;
  output: () => string;
  /** Resolves when the output matches the pattern. */
  said: (pattern: RegExp) => Promise<void>;
  exit: Promise<number | null>;
}

function start(t: TestContext, args: string[], ipc: boolean): Run {
  const child = spawn(process.execPath, [BIN, ...args], {
    stdio: ["ignore", "pipe", "pipe", ...(ipc ? ["ipc" as const] : [])],
    // A folder without a login.
    env: { ...process.env, XDG_CONFIG_HOME: "/nonexistent" },
  });
  t.after(() => child.kill("SIGKILL"));
  let output = "";
  let heard = (): void => {};
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text) => {
      output += text;
      heard();
    });
  const said = (pattern: RegExp): Promise<void> =>
    new Promise((resolve) => {
      heard = () => {
        if (pattern.test(output)) resolve();
      };
      heard();
    });
  return { child, output: () => output, said, exit: once(child, "close").then(([code]) => code) };
}

/** A stub gateway and a stub of the dispatch plane, enough for a node to come online. */
async function platform(t: TestContext): Promise<{ gateway: string; nats: StubNats; calls: string[] }> {
  const nats = await stubNats(t);
  const calls: string[] = [];
  const gateway = await stubServer(t, (request, response) => {
    calls.push(`${request.method} ${request.path}`);
    if (request.path.endsWith("/credentials"))
      sendJson(response, {
        plane_url: nats.url,
        jwt: "j",
        seed: NATS_USER_SEED,
        expires_at: Math.floor(Date.now() / 1000) + 3600,
      });
    else if (request.method === "GET") sendJson(response, { data: [] });
    else sendJson(response, { id: "node_1", name: "box" });
  });
  return { gateway, nats, calls };
}

const scripted = (gateway: string): string[] => [
  ...["up", "--gateway", gateway, "--token", TOKEN, "--name", "box"],
  ...["--engine", "scripted", "--models", "tiny-3b", "--slots", "3"],
];

test("exits with code 2 for wrong arguments and 1 for failures, and says what to do next", async () => {
  const cases: [string[], number, RegExp][] = [
    [["fly"], 2, /^error: there is no command 'fly'; there are login, register, .*\n$/],
    [["up", "--gateway", "http://h", "--name", "x", "--token", "nonsense"], 2, /^error: --token .*\n$/],
    [["status", "--node"], 2, /^error: --node needs a value: --node ID\. Next: tollgate-host status --help\n$/],
    [["status"], 1, /^error: this machine is not logged in\. Next: tollgate-host login\n$/],
  ];
  for (const [args, code, line] of cases) {
    const terminal = new FakeTerminal();
    assert.equal(
      await runTollgateHost(args, { terminal, logins: openLoginFile("/nonexistent"), supervisor }),
      code,
      args.join(" "),
    );
    assert.deepEqual(terminal.lines, []);
    assert.match(`${terminal.remarks.join("\n")}\n`, line);
  }
});

test("exits with the command's exit code and writes errors to standard error", async (t) => {
  const { exit, output } = start(t, ["statsu"], false);
  assert.equal(await exit, 2);
  assert.match(output(), /^error: there is no command 'statsu'; did you mean 'status'\? Next: tollgate-host --help\n$/);
});

test("writes a failure as a JSON object with --json", async (t) => {
  const { exit, output } = start(t, ["status", "--json"], false);
  assert.equal(await exit, 1);
  const error = { message: "this machine is not logged in", code: null, next: "tollgate-host login" };
  assert.deepEqual(JSON.parse(output()), { error });
});

test("prints a command's help wherever --help is in the command line, and prints the version", async () => {
  const said = async (...args: string[]): Promise<string> => {
    const terminal = new FakeTerminal();
    assert.equal(await runTollgateHost(args, { terminal }), 0, args.join(" "));
    return terminal.text;
  };
  const overview = await said("--help");
  const commands = [...overview.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name]) => name as string);
  assert.deepEqual(commands.slice(0, 5), ["login", "register", "elect", "doctor", "up"]);
  assert.equal(commands.length, 17);
  for (const name of commands) {
    const usage = await said(name, "--help");
    assert.ok(usage.startsWith(`Usage: tollgate-host ${name}`), usage);
    for (const line of usage.split("\n")) assert.ok(line.length <= 100, line);
  }
  assert.equal(await said("help", "up"), await said("up", "--slots", "-h"));
  assert.equal(await said("help", "service", "install"), await said("service", "install", "--help"));
  assert.equal(await said("help"), overview);
  assert.match(await said("--version"), /^tollgate-host \d+\.\d+\.\d+$/);
  assert.equal(await said("status", "--version"), await said("-V"));
});

test("does not repeat a token that the user passed in the wrong place", async () => {
  for (const args of [
    ["login", TOKEN],
    [TOKEN],
    ["up", "--gateway", "http://h", TOKEN],
    ["status", `--node=${TOKEN}`],
  ]) {
    const terminal = new FakeTerminal();
    assert.equal(
      await runTollgateHost(args, {
        terminal,
        logins: openLoginFile("/nonexistent"),
        supervisor,
        env: { TOLLGATE_TRACE: "1" },
      }),
      args[0] === "status" ? 1 : 2,
    );
    assert.ok(!terminal.everything.includes(TOKEN), terminal.everything);
  }
});

test("lists its commands when called without arguments", async () => {
  const terminal = new FakeTerminal();
  assert.equal(await runTollgateHost([], { terminal }), 2);
  assert.match(terminal.text, /^Usage: tollgate-host COMMAND/);
});

test("tollgate-host up reports once over IPC that the node is online, and ends cleanly on a stop message", async (t) => {
  const { gateway, calls } = await platform(t);
  const { child, exit, output } = start(t, scripted(gateway), true);
  const [message] = await once(child, "message");
  assert.deepEqual(message, { type: "online", node: "node_1", engine: "scripted", models: ["tiny-3b"], slots: 3 });
  assert.deepEqual(calls, [
    "GET /node/v1/nodes",
    "POST /node/v1/nodes",
    "PUT /node/v1/nodes/node_1/elections",
    "POST /node/v1/nodes/node_1/credentials",
  ]);
  child.send({ type: "stop" });
  assert.equal(await exit, 0);
  assert.match(output(), /engine.*\n.*node_1.*\nonline.*\nstopping.*\nstopped\n$/);
});

test("tollgate-host up ends when its parent process disconnects the IPC channel", async (t) => {
  const { gateway } = await platform(t);
  const { child } = start(t, scripted(gateway), true);
  await once(child, "message");
  const exit = once(child, "exit");
  child.disconnect();
  assert.deepEqual(await exit, [0, null]);
});

test("tollgate-host up reports the reason of a failed start over IPC", async (t) => {
  const dead = await unusedAddress();
  const { child, exit, output } = start(t, scripted(dead), true);
  const [message] = await once(child, "message");
  const reason = `cannot reach the gateway at ${dead}: ECONNREFUSED`;
  assert.deepEqual(message, { type: "failed", message: reason });
  assert.equal(await exit, 1);
  assert.match(output(), new RegExp(`error: ${reason}\\. Next: .*\n$`));
});

test("tollgate-host up reports a lost connection and reconnects until SIGTERM ends the process", async (t) => {
  const { gateway, nats } = await platform(t);
  const { child, exit, output, said } = start(t, scripted(gateway), true);
  await once(child, "message");
  for (const socket of nats.clients) socket.destroy();
  await said(/offline .*reconnecting\nonline/);
  child.kill("SIGTERM");
  assert.equal(await exit, 0);
  assert.match(output(), /online.*\noffline .*reconnecting\nonline.*\nstopping/);
});

test("Ctrl-C ends tollgate-host up cleanly", async (t) => {
  const { gateway } = await platform(t);
  const { child, exit, output } = start(t, scripted(gateway), true);
  await once(child, "message");
  child.kill("SIGINT");
  assert.equal(await exit, 0);
  assert.match(output(), /online.*\nstopping.*\nstopped\n$/);
});
