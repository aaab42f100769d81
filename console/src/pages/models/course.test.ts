import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelPerformance } from "../../api/types.ts";
import { firstTokenLines, gapsText, levelOf, percentText, speedLines } from "./course.ts";

const measured = { failed_share: null, ttft_p50_ms: 180, ttft_p95_ms: null, tokens_per_second: 41.5 };
const at = Date.UTC(2026, 10, 14) / 1000;
const performance: ModelPerformance = {
  object: "model.performance",
  model: "tiny-3b",
  range: "30d",
  slot_seconds: 86_400,
  total: { ...measured, availability: 0.99 },
  points: [
    { at: at - 86_400, ...measured, availability: null, ttft_p50_ms: null },
    { at, ...measured, availability: 1 },
    { at: at + 86_400, ...measured, availability: 0.9871 },
  ],
};

test("less than whole is never shown as whole", () => {
  assert.equal(percentText(1), "100 %");
  assert.equal(percentText(0.99999), "99.99 %");
  assert.equal(percentText(0.57), "57 %");
  assert.equal(percentText(0.034, 1), "3.4 %");
  assert.equal(percentText(null), "–");
  assert.deepEqual([null, 1, 0.9985, 0.5].map(levelOf), ["none", "good", "fair", "bad"]);
});

test("lines have gaps where nothing was measured", () => {
  const { series, rows, format } = firstTokenLines(performance);
  assert.deepEqual(
    series.map(({ name }) => name),
    ["p50", "p95"],
  );
  assert.deepEqual(
    rows.map(({ values }) => values),
    [{}, { p50: 180 }, { p50: 180 }],
  );
  assert.equal(format(180), "180 ms");
  assert.equal(speedLines(performance).format(41.5), "41.5 tokens/s");
});

test("what the bars show is said in words", () => {
  assert.match(gapsText(performance), /^Below 100 % in 1 of 2 days measured\. Lowest: .*15.*: 98\.71 %\.$/);
  assert.equal(
    gapsText({ ...performance, points: performance.points.slice(0, 2) }),
    "Available in all 1 days measured.",
  );
  assert.equal(gapsText({ ...performance, points: [] }), "Not measured yet.");
});
