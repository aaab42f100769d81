import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../clock.ts";
import { chatJob, JOB_ID, RecordingSink } from "../testing/recording-sink.ts";
import { compositeEngine } from "./composite-engine.ts";
import type { Engine, EngineAvailability } from "./engine.ts";
import { scriptedEngine } from "./scripted-engine.ts";

const never = new AbortController().signal;
const named = (name: string, models: string[], slots: number): Engine => ({
  ...scriptedEngine({ models, slots, clock: systemClock }),
  name,
});

test("a composite engine uses the first engine that has a model, and its name lists each engine's models", () => {
  const both = compositeEngine([named("a", ["tiny-3b", "embed-m3"], 1), named("b", ["tiny-3b", "mid-14b"], 2)]);
  assert.equal(both.name, "a (tiny-3b, embed-m3) + b (mid-14b)");
  assert.deepEqual(both.models, ["tiny-3b", "embed-m3", "mid-14b"]);
  assert.equal(both.slots, 3);
});

test("a composite engine refuses jobs for a full engine while it accepts jobs for another engine", async () => {
  const both = compositeEngine([named("a", ["tiny-3b"], 1), named("b", ["mid-14b"], 1)]);
  const controller = new AbortController();
  const stalled = both.generate(chatJob('#script {"stall_after":0}'), new RecordingSink(), controller.signal);
  assert.equal(both.refuses?.(chatJob("hi")), true);
  assert.equal(both.refuses?.(chatJob("hi", { model: "mid-14b" })), false);
  assert.equal(both.refuses?.(chatJob('#script {"busy":true}', { model: "mid-14b" })), true);
  controller.abort();
  await stalled;
  assert.equal(both.refuses?.(chatJob("hi")), false);
});

test("a composite engine routes generations and embeddings to the engines that have their models", async () => {
  const both = compositeEngine([named("a", ["tiny-3b"], 1), named("b", ["embed-m3"], 1)]);
  const sink = new RecordingSink();
  await both.generate(chatJob('#script {"text":"hello"}'), sink, never);
  assert.equal(sink.text("answer"), "hello");
  const job = { id: JOB_ID, attempt: 1, model: "embed-m3", endpoint: "embedding" as const, input: ["a"] };
  assert.equal((await Array.fromAsync(both.embed(job, sink, never))).length, 1);
  await both.close();
});

test("a composite engine removes the models and slots of an unreachable engine, and restores them later", () => {
  let change: (now: EngineAvailability) => void = () => {};
  const away: Engine = {
    ...named("a", ["tiny-3b", "embed-m3"], 2),
    watch(changed) {
      change = changed;
      return () => {
        change = () => {};
      };
    },
  };
  const both = compositeEngine([away, named("b", ["mid-14b"], 1)]);
  const seen: EngineAvailability[] = [];
  const stop = both.watch?.((now) => seen.push(now));
  change({ models: [], slots: 0 });
  assert.equal(both.refuses?.(chatJob("hi")), true);
  assert.equal(both.refuses?.(chatJob("hi", { model: "mid-14b" })), false);
  change({ models: ["tiny-3b"], slots: 2 });
  assert.equal(both.refuses?.(chatJob("hi")), false);
  stop?.();
  change({ models: [], slots: 0 });
  assert.deepEqual(seen, [
    { models: ["mid-14b"], slots: 1 },
    { models: ["tiny-3b", "mid-14b"], slots: 3 },
  ]);
});
