import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestHistogram } from "../../api/answer-types.ts";
import {
  bucketLengthText,
  buildBars,
  buildStackPaths,
  computeSelectedSpan,
  countRequestsByOutcome,
  findBarIndex,
  findSelectionEdges,
} from "./histogram-data.ts";

const HISTOGRAM: RequestHistogram = {
  object: "request_histogram",
  as_of: 0,
  from: 1_000_020,
  to: 1_000_300,
  bucket_s: 60,
  data: [
    { at: 1_000_080, outcome: "ok", requests: 3 },
    { at: 1_000_080, outcome: "upstream_failed", requests: 1 },
    { at: 1_000_200, outcome: "no_capacity", requests: 2 },
  ],
};

test("has a bar for every bucket from the first to the last", () => {
  const bars = buildBars(HISTOGRAM);
  assert.deepEqual(
    bars.map(({ at, total }) => [at - HISTOGRAM.from, total]),
    [
      [0, 0],
      [60, 4],
      [120, 0],
      [180, 2],
      [240, 0],
    ],
  );
  assert.deepEqual(bars[1]?.of, { good: 3, neutral: 0, warn: 0, bad: 1 });
  assert.deepEqual(buildBars({ ...HISTOGRAM, from: 1_000_050 })[0]?.at, 1_000_020, "the first bucket began before");
  assert.equal(buildBars({ ...HISTOGRAM, data: [] }).length, 5);
});

test("stacks bars and scales them to the highest one", () => {
  const { good, bad, warn, neutral } = buildStackPaths(buildBars(HISTOGRAM));
  assert.equal(good, "M1.1,1V0.25h0.8V1Z");
  assert.equal(bad, "M1.1,0.25V0h0.8V0.25Z");
  assert.equal(warn, "M3.1,1V0.5h0.8V1Z");
  assert.equal(neutral, "");
});

test("converts selected bars to a time span within the chart's range, whichever end was selected first", () => {
  const bars = buildBars({ ...HISTOGRAM, from: 1_000_050 });
  const span = computeSelectedSpan({ ...HISTOGRAM, from: 1_000_050 }, bars, { anchor: 2, focus: 0 });
  assert.deepEqual(span, { from: new Date(1_000_050_000).toISOString(), to: new Date(1_000_200_000).toISOString() });
  assert.deepEqual(findSelectionEdges({ anchor: 4, focus: 1 }), [1, 4]);
  assert.deepEqual([findBarIndex(-1, 5), findBarIndex(0.5, 5), findBarIndex(1, 5)], [0, 2, 4]);
});

test("counts requests by outcome, most frequent first, and names the bucket's length", () => {
  assert.deepEqual(
    countRequestsByOutcome(HISTOGRAM).map(({ outcome }) => outcome),
    ["ok", "no_capacity", "upstream_failed"],
  );
  assert.deepEqual([60, 900, 3600, 86_400, 604_800 * 4].map(bucketLengthText), [
    "1 minute",
    "15 minutes",
    "1 hour",
    "1 day",
    "4 weeks",
  ]);
});
