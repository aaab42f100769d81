import assert from "node:assert/strict";
import { test } from "node:test";
import { median, Speeds } from "./speeds.ts";

test("the median of what is known", () => {
  assert.equal(median([]), null);
  assert.equal(median([null]), null);
  assert.equal(median([3, null, 1, 2]), 2);
  assert.equal(median([4, 1]), 2.5);
});

test("a node's figure is a moving median; a model's is the median over its nodes", () => {
  const speeds = new Speeds();
  assert.deepEqual(speeds.ofModel(["a"], "m"), { ttftMs: null, tokensPerSecond: null });
  for (let i = 0; i < 100; i++) speeds.note("a", "m", { ttftMs: 1000, tokensPerSecond: null });
  for (let i = 0; i < 31; i++) speeds.note("a", "m", { ttftMs: 10 + i, tokensPerSecond: 50 });
  assert.deepEqual(speeds.ofNode("a", "m"), { ttftMs: 25, tokensPerSecond: 50 }, "old answers no longer count");
  speeds.note("b", "m", { ttftMs: 75, tokensPerSecond: 100 });
  assert.deepEqual(speeds.ofModel(["a", "b", "unmeasured"], "m"), { ttftMs: 50, tokensPerSecond: 75 });
  speeds.forget("b");
  assert.deepEqual(speeds.ofModel(["a", "b"], "m"), { ttftMs: 25, tokensPerSecond: 50 });
  assert.deepEqual(speeds.ofModel(["a"], "other"), { ttftMs: null, tokensPerSecond: null });
});
