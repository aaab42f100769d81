import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelPerformance } from "../../api/answer-types.ts";
import { availabilityBars, firstTokenLines, percentText, speedLines } from "./model-history-charts.ts";

const measured = { failed_share: null, ttft_p50_ms: 180, ttft_p95_ms: null, tokens_per_second: 41.5 };
const at = Date.UTC(2026, 10, 14) / 1000;
const performance: ModelPerformance = {
  object: "model.performance",
  as_of: at,
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

test("never rounds availability up to 100 %", () => {
  assert.equal(percentText(1), "100 %");
  assert.equal(percentText(0.99999), "99.99 %");
  assert.equal(percentText(0.57), "57 %");
  assert.equal(percentText(0.034, 1), "3.4 %");
  assert.equal(percentText(null), "–");
});

test("shows gaps in a line for times without measurements", () => {
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

test("colors availability bars by level, and draws no bar for a time without samples", () => {
  const { series, rows } = availabilityBars(performance);
  assert.deepEqual(
    series.map(({ name }) => name),
    ["Available", "Below 99.9 %"],
  );
  assert.deepEqual(
    rows.map(({ values }) => values),
    [{}, { Available: 1 }, { "Below 99.9 %": 0.9871 }],
  );
});
