import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { deadAddress, json, stubServer } from "./testing/stub-http.ts";
import { SEED, type StubNats, stubNats } from "./testing/stub-nats.ts";

const BIN = fileURLToPath(new URL("../bin/tollgate-host.mjs", import.meta.url));
const TOKEN = "tht_live_abc_def";

interface Run {
  child: ChildProcess;
  output: () => string;
  exit: Promise<number | null>;
}

function start(t: TestContext, args: string[], ipc: boolean): Run {
  const child = spawn(process.execPath, [BIN, ...args], {
    stdio: ["ignore", "pipe", "pipe", ...(ipc ? ["ipc" as const] : [])],
  });
  t.after(() => child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text) => (output += text));
  return { child, output: () => output, exit: once(child, "close").then(([code]) => code) };
}

/** A gateway's node API and a plane: enough to come online. */
async function platform(t: TestContext): Promise<{ gateway: string; nats: StubNats; calls: string[] }> {
  const nats = await stubNats(t);
  const calls: string[] = [];
  const gateway = await stubServer(t, (request, response) => {
    calls.push(`${request.method} ${request.path}`);
    if (request.path.endsWith("/credentials"))
      json(response, { plane_url: nats.url, jwt: "j", seed: SEED, expires_at: Math.floor(Date.now() / 1000) + 3600 });
    else if (request.method === "GET") json(response, { data: [] });
    else json(response, { id: "node_1", name: "box" });
  });
  return { gateway, nats, calls };
}

const scripted = (gateway: string): string[] => [
  ...["up", "--gateway", gateway, "--token", TOKEN, "--name", "box"],
  ...["--engine", "scripted", "--models", "tiny-3b", "--slots", "3"],
];

test("mistakes end the command with code 1 and say so in one line", async (t) => {
  const dead = await deadAddress();
  const cases: [string[], RegExp][] = [
    [["down"], /^tollgate-host: there is no command down; there is: up\n$/],
    [["up", "--gateway", "http://h", "--name", "x", "--token", "nonsense"], /^tollgate-host: --token .*\n$/],
    [scripted(dead), new RegExp(`tollgate-host: cannot reach the gateway at ${dead}: ECONNREFUSED\n$`)],
  ];
  for (const [args, line] of cases) {
    const { exit, output } = start(t, args, false);
    assert.equal(await exit, 1);
    assert.match(output(), line);
  }
});

test("over IPC: online is told once, and a stop message ends it cleanly", async (t) => {
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

test("over IPC: when the parent goes away, so does the node", async (t) => {
  const { gateway } = await platform(t);
  const { child } = start(t, scripted(gateway), true);
  await once(child, "message");
  const exit = once(child, "exit");
  child.disconnect();
  assert.deepEqual(await exit, [0, null]);
});

test("over IPC: a start that fails is told with its reason", async (t) => {
  const dead = await deadAddress();
  const { child, exit } = start(t, scripted(dead), true);
  const [message] = await once(child, "message");
  assert.deepEqual(message, { type: "failed", message: `cannot reach the gateway at ${dead}: ECONNREFUSED` });
  assert.equal(await exit, 1);
});

test("a lost connection is said and made good; SIGTERM ends it", async (t) => {
  const { gateway, nats } = await platform(t);
  const { child, exit, output } = start(t, scripted(gateway), true);
  await once(child, "message");
  const back = Promise.withResolvers<void>();
  nats.changed = () => {
    if (nats.names.length === 2 && nats.published.length > 0) back.resolve();
  };
  nats.published.length = 0;
  for (const socket of nats.clients) socket.destroy();
  await back.promise;
  child.kill("SIGTERM");
  assert.equal(await exit, 0);
  assert.match(output(), /online.*\noffline .*reconnecting\nonline.*\nstopping/);
});
