import assert from "node:assert/strict";
import { test } from "node:test";
import { registerCommand } from "./register.ts";
import { commandHarness, makeLoggedInHarness } from "./testing/command-harness.ts";
import { fakeMachine } from "./testing/fake-machine.ts";
import { STUB_HOST_TOKEN, STUB_NODE, STUB_NODE_ID } from "./testing/stub-gateway.ts";

const H200 = "NVIDIA H200, 143771, 580.159.04\n";
const ollama = { name: "ollama at 127.0.0.1:11434", url: "http://127.0.0.1:11434", models: ["llama3.2:3b"], slots: 1 };

test("register sends the machine's hardware and engines, and stores the node", async (t) => {
  const machine = fakeMachine({ programs: { "nvidia-smi": H200 } });
  const { run, terminal, gateway, logins } = await makeLoggedInHarness(t, {
    context: { machine },
    engines: [ollama as never],
    login: { node: { id: "node_old", name: "old" }, serving: { engine: "demo", models: ["tiny-3b"] } },
  });
  assert.equal(await run(registerCommand), 0);
  assert.deepEqual(gateway.bodies, [
    {
      name: "box",
      agent: "tollgate-host/0.0.0",
      hardware: {
        os: "linux",
        arch: "x64",
        cpu: "Test CPU",
        cores: 8,
        memory_bytes: 17179869184,
        gpus: [{ maker: "nvidia", name: "NVIDIA H200", memory_bytes: 150754820096, driver: "580.159.04" }],
        engines: ["ollama"],
      },
    },
  ]);
  // The previous node's settings do not apply to this one.
  assert.deepEqual(await logins.read(), {
    gateway: gateway.url,
    token: STUB_HOST_TOKEN,
    node: { id: STUB_NODE_ID, name: "box" },
  });
  assert.deepEqual(terminal.lines, [
    `node     ${STUB_NODE_ID} (box), registered`,
    "cpu      Test CPU, 8 cores",
    "memory   16.0 GiB",
    "gpu      NVIDIA H200, 140 GiB",
    "engines  ollama at 127.0.0.1:11434",
    "next: tollgate-host elect (choose models)",
  ]);
});

test("register with a known name finds the same node and keeps its settings", async (t) => {
  const serving = { engine: "demo" as const, models: ["tiny-3b"] };
  const { run, terminal, gateway, logins } = await makeLoggedInHarness(t, { login: { serving } });
  gateway.answers["POST /nodes"] = STUB_NODE;
  assert.equal(await run(registerCommand, "--name", "box", "--json"), 0);
  assert.deepEqual((await logins.read())?.serving, serving);
  const report = terminal.json<{ node: string; gpus: unknown[] }>();
  assert.equal(report.node, STUB_NODE_ID);
  assert.deepEqual(report.gpus, []);
});

test("register names the next step if the name is a retired node's or no login exists, and refuses an empty name", async (t) => {
  const { fails, gateway } = await makeLoggedInHarness(t);
  gateway.answers["POST /nodes"] = { ...STUB_NODE, state: "retired" };
  assert.match((await fails(registerCommand)).next ?? "", /--name ANOTHER/);
  assert.deepEqual((await fails(registerCommand, "--name", " ")).exitCode, 2);
  const nobody = await commandHarness(t);
  assert.deepEqual(await nobody.fails(registerCommand), {
    message: "this machine is not logged in",
    next: "tollgate-host login",
    code: undefined,
    exitCode: 1,
    details: [],
  });
});
