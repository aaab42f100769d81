/** A node whose engine goes away and comes back, with a real HTTP engine behind a real agent. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../clock.ts";
import { compositeEngine } from "../engines/composite.ts";
import { ollama } from "../engines/knowledge/ollama.ts";
import { openAiEngine } from "../engines/openai.ts";
import { scriptedEngine } from "../engines/scripted.ts";
import { AgentBench } from "../testing/bench.ts";
import { StubBrain } from "../testing/engines/brain.ts";
import { ollamaStub } from "../testing/engines/ollama.ts";
import { restartableServer } from "../testing/stub-http.ts";

async function stubEngine(t: TestContext) {
  const brain = new StubBrain();
  const server = await restartableServer(t, ollamaStub(brain));
  const engine = openAiEngine({
    name: "ollama",
    url: server.url,
    models: new Map([["tiny-3b", "llama3.2:3b"]]),
    knowledge: ollama,
    listed: ["llama3.2:3b"],
    slots: 2,
    clock: systemClock,
  });
  return { brain, server, engine };
}

test("an engine that is restarted: its job fails, the node gets no more, and serves again by itself", async (t) => {
  const { brain, server, engine } = await stubEngine(t);
  brain.pauseAfter = 2;
  const bench = new AgentBench({ models: ["tiny-3b"], engine });
  await bench.online();
  const job = bench.offer("hi");
  await bench.plane.until(() => bench.text(job) === "Hello there" || bench.text(job) === "Hello");

  await server.stop();
  const ending = await bench.plane.ending(job);
  assert.ok(ending.kind === "failed" && ending.cause === "engine");
  await bench.plane.until(() => bench.states().at(-1)?.slots === 0);
  assert.deepEqual(bench.states().at(-1)?.models, []);
  assert.deepEqual(bench.kinds(bench.offer("hi")), ["busy"], "a gateway that did not hear of it yet loses nothing");

  await server.start();
  brain.pauseAfter = Number.POSITIVE_INFINITY;
  await bench.plane.until(() => bench.states().at(-1)?.slots === 2);
  assert.deepEqual(bench.states().at(-1)?.models, ["tiny-3b"]);
  const next = bench.offer("hi");
  assert.equal((await bench.plane.ending(next)).kind, "done");
  assert.equal(bench.text(next), "Hello there!");
  assert.match(bench.logged, /the engine serves less now/);
  assert.match(bench.logged, /the engine serves again/);
  await bench.agent.stop();
});

test("of several engines only the one that is away is missed", async (t) => {
  const { server, engine } = await stubEngine(t);
  const both = compositeEngine([engine, scriptedEngine({ models: ["mid-14b"], slots: 3, clock: systemClock })]);
  const bench = new AgentBench({ models: ["tiny-3b", "mid-14b"], engine: both });
  await bench.online();
  assert.equal(bench.states().at(-1)?.slots, 5);
  await server.stop();
  bench.offer("hi");
  const state = await bench.plane.until(() => bench.states().find(({ slots }) => slots === 3));
  assert.deepEqual(state.models, ["mid-14b"]);
  assert.equal((await bench.plane.ending(bench.script({ text: "ok" }, { model: "mid-14b" }))).kind, "done");
  await bench.agent.stop();
});

test("a model that nobody elected is not offered when its engine comes back", async (t) => {
  const { engine } = await stubEngine(t);
  const bench = new AgentBench({ models: ["small-8b"], engine });
  await bench.online();
  assert.deepEqual([bench.states().at(-1)?.models, bench.states().at(-1)?.slots], [[], 0]);
  await bench.agent.stop();
});
