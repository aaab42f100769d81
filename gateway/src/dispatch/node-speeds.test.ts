import assert from "node:assert/strict";
import { test } from "node:test";
import { computeMedian, NodeSpeeds } from "./node-speeds.ts";

const UNMEASURED = { ttftMs: null, ttftMsPerToken: null, tokensPerSecond: null };

test("the median ignores null values", () => {
  assert.equal(computeMedian([]), null);
  assert.equal(computeMedian([null]), null);
  assert.equal(computeMedian([3, null, 1, 2]), 2);
  assert.equal(computeMedian([4, 1]), 2.5);
});

test("a node's median speed follows its latest answers, and a model's median speed is the median of its nodes' speeds", () => {
  const speeds = new NodeSpeeds();
  assert.deepEqual(speeds.ofModel(["a"], "m"), UNMEASURED);
  for (let i = 0; i < 100; i++) speeds.note("a", "m", { at: i, ttftMs: 1000, tokensPerSecond: null });
  for (let i = 0; i < 31; i++)
    speeds.note("a", "m", { at: 100 + i, ttftMs: 10 + i, ttftMsPerToken: 2, tokensPerSecond: 50 });
  const a = { ttftMs: 25, ttftMsPerToken: 2, tokensPerSecond: 50 };
  assert.deepEqual(speeds.ofNode("a", "m"), a, "old answers no longer count");
  speeds.note("b", "m", { at: 0, ttftMs: 75, ttftMsPerToken: 4, tokensPerSecond: 100 });
  const both = { ttftMs: 50, ttftMsPerToken: 3, tokensPerSecond: 75 };
  assert.deepEqual(speeds.ofModel(["a", "b", "unmeasured"], "m"), both);
  speeds.forget("b");
  assert.deepEqual(speeds.ofModel(["a", "b"], "m"), a);
  assert.deepEqual(speeds.ofModel(["a"], "other"), UNMEASURED);
});

test("measurements by other gateways are sorted by time, in whatever order they arrive", () => {
  const [here, there] = [new NodeSpeeds(), new NodeSpeeds()];
  const told = (at: number, ttftMs: number) => ({ model: "m", at, ttftMs, tokensPerSecond: null });
  for (let i = 0; i < 40; i++) here.note("a", "m", told(2 * i, i));
  here
    .topic(() => true)
    .hear(
      "a",
      [1, 3, 77].map((at) => told(at, 1000 + at)),
      { shiftMs: 0, isHeld: false },
    );
  there
    .topic(() => true)
    .hear(
      "a",
      [1, 3, 77].map((at) => told(at, 1000 + at)),
      { shiftMs: 0, isHeld: false },
    );
  for (let i = 39; i >= 0; i--) there.note("a", "m", told(2 * i, i));
  assert.deepEqual(here.topic(() => true).held("a"), there.topic(() => true).held("a"));
  assert.equal(here.topic(() => true).held("a").length, 31);
});

test("other gateways' measurements are read only if they are amounts, and without the fields of later versions", () => {
  const { parse, itemsMax } = new NodeSpeeds().topic(() => true);
  const told = { model: "m", at: 5, ttftMs: 20, ttftMsPerToken: 2, tokensPerSecond: null };
  assert.deepEqual(parse({ ...told, later: "field" }), told);
  assert.deepEqual(parse({ model: "m", at: 5, ttftMs: 20, tokensPerSecond: 50 })?.tokensPerSecond, 50);
  for (const wrong of [null, 7, {}, { ...told, model: 1 }, { ...told, at: "5" }, { ...told, ttftMs: -1 }])
    assert.equal(parse(wrong), undefined, JSON.stringify(wrong));
  for (const wrong of [{ ttftMsPerToken: null }, { tokensPerSecond: undefined }, { ttftMs: Number.POSITIVE_INFINITY }])
    assert.equal(parse({ ...told, ...wrong }), undefined, JSON.stringify(wrong));
  assert.equal(itemsMax, 4, "a busy node's speed is not told more often");
});
