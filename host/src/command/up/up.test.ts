import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MemoryPlane } from "../../testing/memory-plane.ts";
import type { Login } from "../login-file.ts";
import type { Supervisor, SupervisorReport } from "../service-supervisor.ts";
import { type HarnessOptions, makeLoggedInHarness } from "../testing/command-harness.ts";
import { answerWithRefusal, STUB_HOST_TOKEN, STUB_NODE, STUB_NODE_ID } from "../testing/stub-gateway.ts";
import { upCommand } from "./up.ts";

const serving: NonNullable<Login["serving"]> = { engine: "scripted", models: ["tiny-3b"], slots: 3 };

class FakeSupervisor implements Supervisor {
  readonly #stop = Promise.withResolvers<void>();
  readonly #online = Promise.withResolvers<void>();
  readonly hasParent = false;
  readonly hurry = new AbortController().signal;
  readonly told: SupervisorReport[] = [];
  readonly stopRequested = this.#stop.promise;
  /** Resolves when the node has come online. */
  readonly online = this.#online.promise;

  async tell(report: SupervisorReport): Promise<void> {
    this.told.push(report);
    if (report.type === "online") this.#online.resolve();
  }

  stop(): void {
    this.#stop.resolve();
  }
}

async function upHarness(t: TestContext, options: HarnessOptions & { login?: Partial<Login> } = {}) {
  const supervisor = new FakeSupervisor();
  const plane = new MemoryPlane();
  const made = await makeLoggedInHarness(t, {
    ...options,
    login: { serving, ...options.login },
    context: { dial: plane.dial, supervisor: () => supervisor, ...options.context },
  });
  made.gateway.answers[`POST /nodes/${STUB_NODE_ID}/credentials`] = {
    ...{ plane_url: "nats://plane", jwt: "j", seed: "S" },
    expires_at: Math.floor(Date.now() / 1000) + 3600,
  };
  return { ...made, supervisor, plane };
}

test("tollgate-host up, without flags, serves the models chosen for the registered node until it is stopped", async (t) => {
  const { run, supervisor, gateway, terminal, plane } = await upHarness(t);
  const ended = run(upCommand);
  await supervisor.online;
  assert.equal(plane.open.length, 1);
  supervisor.stop();
  assert.equal(await ended, 0);
  assert.equal(plane.open.length, 0);
  assert.deepEqual(gateway.calls.slice(0, 2), [
    `PUT /nodes/${STUB_NODE_ID}/elections`,
    `POST /nodes/${STUB_NODE_ID}/credentials`,
  ]);
  assert.deepEqual(supervisor.told, [
    { type: "online", node: STUB_NODE_ID, engine: "scripted", models: ["tiny-3b"], slots: 3 },
  ]);
  assert.deepEqual(terminal.lines, [
    "engine   scripted, 3 at once",
    `node     ${STUB_NODE_ID} at ${gateway.url}, serving tiny-3b`,
    "online   waiting for requests",
    "stopping when the requests in flight have ended; Ctrl-C again stops at once",
    "stopped",
  ]);
});

test("tollgate-host up tells the gateway the agent's version if the node was registered by another version", async (t) => {
  const { run, supervisor, gateway } = await upHarness(t);
  const hardware = { os: "linux", cores: 8, engines: ["ollama"] };
  const older = { ...STUB_NODE, hardware, agent: "tollgate-host/0.0.0-older" };
  gateway.answers[`PUT /nodes/${STUB_NODE_ID}/elections`] = older;
  const ended = run(upCommand);
  await supervisor.online;
  supervisor.stop();
  assert.equal(await ended, 0);
  assert.ok(gateway.calls.includes("POST /nodes"), gateway.calls.join(", "));
  assert.deepEqual(
    gateway.bodies.filter((body) => (body as { agent?: string }).agent !== undefined),
    [{ name: "box", hardware, agent: "tollgate-host/0.0.0" }],
  );
});

test("tollgate-host up on a terminal shows a live screen with the gateway's statistics", async (t) => {
  const { run, supervisor, terminal } = await upHarness(t, { watched: true });
  const ended = run(upCommand);
  const told = new Promise<void>((resolve) => {
    terminal.heard = () => {
      if (terminal.screens.at(-1)?.some((line) => line.includes("$0.00012345 today"))) resolve();
    };
  });
  await supervisor.online;
  await told;
  supervisor.stop();
  assert.equal(await ended, 0);
  assert.match(terminal.screens.at(-1)?.[0] ?? "", /Tollgate host, up for \d+ s/);
});

test("tollgate-host up exits with code 1 if the engine is unreachable, and never replaces the chosen models with the demo model", async (t) => {
  const { fails, supervisor } = await upHarness(t, { login: { serving: { engine: "auto", models: ["tiny-3b"] } } });
  const { message, next, exitCode } = await fails(upCommand);
  assert.match(message, /no engine on this machine has/);
  assert.match(next ?? "", /start the engine/);
  assert.equal(exitCode, 1);
  assert.deepEqual(supervisor.told, [{ type: "failed", message }]);
});

test("tollgate-host up --gateway stops before it registers a node if no engine is found, and lists the searched addresses", async (t) => {
  const places = ["11434", "8080", "1234", "8000"].map((port) => ({
    cause: "unreachable" as const,
    url: `http://127.0.0.1:${port}`,
    what: `nothing answers at 127.0.0.1:${port} (ECONNREFUSED)`,
    next: "start the engine",
  }));
  const { fails, gateway } = await upHarness(t, { absences: places });
  const named = ["--gateway", gateway.url, "--token", STUB_HOST_TOKEN, "--name", "box", "--models", "tiny-3b"];
  const { message, details, next, exitCode } = await fails(upCommand, ...named);
  assert.equal(message, "no engine on this machine has a model of the catalogue");
  assert.deepEqual(details, [
    "ollama: nothing answers at 127.0.0.1:11434 (ECONNREFUSED)",
    "llama-server, MLX: nothing answers at 127.0.0.1:8080 (ECONNREFUSED)",
    "LM Studio: nothing answers at 127.0.0.1:1234 (ECONNREFUSED)",
    "vLLM: nothing answers at 127.0.0.1:8000 (ECONNREFUSED)",
  ]);
  assert.match(next ?? "", /^start an engine .* --engine demo .*tests/);
  assert.equal(exitCode, 1);
  assert.deepEqual(gateway.calls, []);
});

const LOADING = { cause: "loading" as const, url: "http://127.0.0.1:8080", what: "it is loading", next: "wait" };

test("tollgate-host up waits for a loading engine without a time limit, until the command is stopped", async (t) => {
  const login = { serving: { engine: "auto" as const, models: ["tiny-3b"] } };
  const { run, supervisor, terminal } = await upHarness(t, { absences: [LOADING], login });
  const ended = run(upCommand);
  await new Promise<void>((resolve) => {
    terminal.heard = resolve;
  });
  assert.deepEqual(terminal.lines, ["waiting  it is loading; 0 s so far"]);
  supervisor.stop();
  assert.equal(await ended, 0);
  assert.deepEqual(supervisor.told, []);
});

test("tollgate-host up ignores the stored engine when flags name one, and prints a note", async (t) => {
  const elected = { engine: "auto" as const, addresses: { ollama: "http://127.0.0.1:7777" }, models: ["tiny-3b"] };
  const { run, supervisor, terminal } = await upHarness(t, { login: { serving: elected } });
  const ended = run(upCommand, "--engine", "scripted", "--models", "tiny-3b");
  await supervisor.online;
  supervisor.stop();
  assert.equal(await ended, 0);
  assert.deepEqual(terminal.remarks, [
    "note: the flags name the engine, so the stored one (ollama at http://127.0.0.1:7777) is not used this time",
  ]);
});

test("tollgate-host up exits with the gateway's reason when the gateway refuses the node", async (t) => {
  const { fails, gateway, supervisor } = await upHarness(t);
  gateway.answers[`POST /nodes/${STUB_NODE_ID}/credentials`] = answerWithRefusal(
    409,
    "node_quarantined",
    "The node is quarantined.",
  );
  const report = await fails(upCommand);
  assert.deepEqual([report.code, report.exitCode], ["node_quarantined", 1]);
  assert.equal(supervisor.told.length, 1);
});

test("tollgate-host up stops cleanly when it is stopped before it serves", async (t) => {
  const { run, supervisor, gateway } = await upHarness(t);
  gateway.answers[`POST /nodes/${STUB_NODE_ID}/credentials`] = () => {}; // A handler that never answers.
  const ended = run(upCommand);
  supervisor.stop();
  assert.equal(await ended, 0);
});
