/** A node whose engine becomes unreachable and returns, tested with a real HTTP engine and a real agent. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../clock.ts";
import { compositeEngine } from "../engines/composite-engine.ts";
import { openAiEngine } from "../engines/openai-engine.ts";
import { ollamaProfile } from "../engines/profiles/ollama.ts";
import { scriptedEngine } from "../engines/scripted-engine.ts";
import { AgentHarness } from "../testing/agent-harness.ts";
import { createOllamaStub } from "../testing/engines/ollama.ts";
import { StubEngine } from "../testing/engines/stub-engine.ts";
import { restartableServer } from "../testing/stub-http.ts";

async function stubEngine(t: TestContext) {
  const stub = new StubEngine();
  const server = await restartableServer(t, createOllamaStub(stub));
  const engine = openAiEngine({
    name: "ollama",
    url: server.url,
    models: new Map([["tiny-3b", "llama3.2:3b"]]),
    profile: ollamaProfile,
    listed: ["llama3.2:3b"],
    slots: 2,
    clock: systemClock,
  });
  return { stub, server, engine };
}

test("a node fails the job of a restarting engine, stops taking jobs, and recovers by itself", async (t) => {
  const { stub, server, engine } = await stubEngine(t);
  stub.pauseAfter = 2;
  const harness = new AgentHarness({ models: ["tiny-3b"], engine });
  await harness.online();
  const job = harness.offer("hi");
  await harness.plane.until(() => harness.text(job) === "Hello there" || harness.text(job) === "Hello");

  await server.stop();
  const ending = await harness.plane.ending(job);
  assert.ok(ending.kind === "failed" && ending.cause === "engine");
  await harness.plane.until(() => harness.states().at(-1)?.slots === 0);
  assert.deepEqual(harness.states().at(-1)?.models, []);
  assert.deepEqual(harness.kinds(harness.offer("hi")), ["busy"], "a gateway that did not hear of it yet loses nothing");

  await server.start();
  stub.pauseAfter = Number.POSITIVE_INFINITY;
  await harness.plane.until(() => harness.states().at(-1)?.slots === 2);
  assert.deepEqual(harness.states().at(-1)?.models, ["tiny-3b"]);
  const next = harness.offer("hi");
  assert.equal((await harness.plane.ending(next)).kind, "done");
  assert.equal(harness.text(next), "Hello there!");
  assert.match(harness.logged, /the engine serves fewer models than before/);
  assert.match(harness.logged, /the engine serves more models than before/);
  await harness.agent.stop();
});

test("a node with several engines withdraws only the models of the engine that became unreachable", async (t) => {
  const { server, engine } = await stubEngine(t);
  const both = compositeEngine([engine, scriptedEngine({ models: ["mid-14b"], slots: 3, clock: systemClock })]);
  const harness = new AgentHarness({ models: ["tiny-3b", "mid-14b"], engine: both });
  await harness.online();
  assert.equal(harness.states().at(-1)?.slots, 5);
  await server.stop();
  harness.offer("hi");
  const state = await harness.plane.until(() => harness.states().find(({ slots }) => slots === 3));
  assert.deepEqual(state.models, ["mid-14b"]);
  assert.equal((await harness.plane.ending(harness.script({ text: "ok" }, { model: "mid-14b" }))).kind, "done");
  await harness.agent.stop();
});

test("a node offers no models if its engine has only models that the host did not choose", async (t) => {
  const { engine } = await stubEngine(t);
  const harness = new AgentHarness({ models: ["small-8b"], engine });
  await harness.online();
  assert.deepEqual([harness.states().at(-1)?.models, harness.states().at(-1)?.slots], [[], 0]);
  await harness.agent.stop();
});
