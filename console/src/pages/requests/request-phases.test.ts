import assert from "node:assert/strict";
import { test } from "node:test";
import { splitIntoPhases } from "./request-phases.ts";

test("splits the duration of a finished request into the phases queued, first token and generating", () => {
  assert.deepEqual(splitIntoPhases({ queue_ms: 20, ttft_ms: 120, duration_ms: 900 }), [
    { name: "Queued", startMs: 0, endMs: 20 },
    { name: "First token", startMs: 20, endMs: 120 },
    { name: "Generating", startMs: 120, endMs: 900 },
  ]);
});

test("omits phases that the request did not reach", () => {
  const names = (queue_ms: number | null, ttft_ms: number | null) =>
    splitIntoPhases({ queue_ms, ttft_ms, duration_ms: 10_000 }).map(({ name }) => name);
  assert.deepEqual(names(null, null), ["Queued"]);
  assert.deepEqual(names(5, null), ["Queued", "First token"]);
  assert.deepEqual(splitIntoPhases({ queue_ms: null, ttft_ms: null, duration_ms: null }), []);
});

test("never extends phases beyond the request's duration", () => {
  for (const stage of splitIntoPhases({ queue_ms: 50, ttft_ms: 40, duration_ms: 45 })) {
    assert.ok(stage.startMs <= stage.endMs && stage.endMs <= 45, stage.name);
  }
});
