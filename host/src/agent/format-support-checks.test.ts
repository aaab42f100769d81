import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { waitOneTurn } from "../clock.ts";
import { type Engine, type EngineAvailability, EngineError, type GenerationJob } from "../engines/engine.ts";
import { scriptedEngine } from "../engines/scripted-engine.ts";
import { AgentHarness } from "../testing/agent-harness.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { FormatSupportChecks } from "./format-support-checks.ts";

const MODELS = ["tiny-3b", "small-8b"];
const format = { type: "json_object" as const };

/** A node whose engine enforces output formats for one of two models and can become unreachable. */
function harness() {
  const clock = new ManualClock();
  const state = { checked: [] as string[], jobs: [] as GenerationJob[], watcher: (_now: EngineAvailability) => {} };
  const scripted = scriptedEngine({ models: MODELS, slots: 8, clock });
  const engine: Engine = {
    ...scripted,
    watch(changed) {
      state.watcher = changed;
      return () => {};
    },
    keepsFormat: async (model) => {
      state.checked.push(model);
      return model === "tiny-3b";
    },
    async generate(job, sink) {
      state.jobs.push(job);
      sink.delta("answer", "{}");
      return { finish: "stop" };
    },
  };
  return { state, agent: new AgentHarness({ models: MODELS, engine }) };
}

test("a node announces the models that passed the check for structured output, and passes the format to the engine", async () => {
  const { state, agent } = harness();
  await agent.online();
  await agent.plane.until(() => agent.states().at(-1)?.json_schema !== undefined);
  assert.deepEqual(agent.states().at(-1)?.json_schema, ["tiny-3b"]);
  assert.deepEqual(state.checked, MODELS);
  const body = { messages: [{ role: "user", content: "x" }], format };
  assert.equal((await agent.plane.ending(agent.offer(body))).kind, "done");
  assert.deepEqual([state.jobs[0]?.format, state.jobs[0]?.input], [format, { messages: body.messages }]);
  assert.equal((await agent.plane.ending(agent.offer({ prompt: "x", format }))).kind, "done");
  assert.deepEqual(agent.kinds(agent.offer(body, { model: "small-8b" })), ["busy"], "it did not pass");
  assert.equal((await agent.plane.ending(agent.offer("x", { model: "small-8b" }))).kind, "done", "without a format");
  await agent.agent.stop();
});

test("a node announces the schema keywords that all its engines enforce, or none if one engine does not report them", async () => {
  for (const [of, announced] of [
    [{ "tiny-3b": ["type", "minimum"], "small-8b": ["pattern", "type"] }, ["type"]],
    [{ "tiny-3b": ["type", "minimum"] }, undefined],
  ] as [Record<string, string[]>, string[] | undefined][]) {
    const scripted = scriptedEngine({ models: MODELS, clock: new ManualClock() });
    const engine: Engine = { ...scripted, schemaKeywords: (model) => of[model] };
    const agent = new AgentHarness({ models: MODELS, engine });
    await agent.online();
    await agent.plane.until(() => agent.states().at(-1)?.json_schema?.length === 2);
    assert.deepEqual(agent.states().at(-1)?.schema_keywords, announced);
    await agent.agent.stop();
  }
});

test("a node repeats a model's check for structured output when its engine returns, and announces the model if it passes", async () => {
  const { state, agent } = harness();
  await agent.online();
  await agent.plane.until(() => agent.states().at(-1)?.json_schema !== undefined);
  state.watcher({ models: [], slots: 0 });
  await agent.plane.until(() => agent.states().at(-1)?.models.length === 0);
  assert.equal(agent.states().at(-1)?.json_schema, undefined);
  state.watcher({ models: MODELS, slots: 2 });
  await agent.plane.until(() => agent.states().at(-1)?.json_schema !== undefined);
  await waitOneTurn(agent.clock);
  assert.deepEqual(state.checked, [...MODELS, ...MODELS]);
  await agent.agent.stop();
});

test("a node retries unanswered checks for structured output with growing pauses, and skips engines that lack it", async () => {
  const clock = new ManualClock();
  const log = pino({ level: "silent" });
  let answers = false;
  let asked = 0;
  const keepsFormat = async (): Promise<boolean> => {
    asked++;
    if (!answers) throw new EngineError("engine", "away");
    return true;
  };
  const checks = new FormatSupportChecks({ engine: { keepsFormat }, clock, log, changed: () => {} });
  checks.serve(["tiny-3b"]);
  for (const waitMs of [30_000, 60_000, 120_000]) {
    await waitOneTurn(clock);
    assert.equal(clock.nextInMs, waitMs);
    clock.advance(waitMs);
  }
  await waitOneTurn(clock);
  answers = true;
  clock.advance(240_000);
  await waitOneTurn(clock);
  assert.deepEqual([checks.passed("tiny-3b"), asked, clock.nextInMs], [true, 5, undefined]);
  checks.serve([]);
  assert.equal(checks.passed("tiny-3b"), false);
  const none = new FormatSupportChecks({ engine: {}, clock, log, changed: () => {} });
  none.serve(["tiny-3b"]);
  await waitOneTurn(clock);
  assert.equal(none.passed("tiny-3b"), false);
});
