import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestHistogram } from "../../api/answer-types.ts";
import { sumRows } from "../../ui/chart/chart-data.ts";
import {
  bucketLengthText,
  computePreviousSpan,
  computeSelectedSpan,
  countRequestsByOutcome,
  toHistogramChart,
  toPreviousRows,
} from "./histogram-data.ts";

const HISTOGRAM: RequestHistogram = {
  object: "request_histogram",
  as_of: 0,
  from: 1_000_020,
  to: 1_000_300,
  bucket_s: 60,
  data: [
    { at: 1_000_080, outcome: "upstream_failed", requests: 1 },
    { at: 1_000_080, outcome: "ok", requests: 3 },
    { at: 1_000_200, outcome: "no_capacity", requests: 2 },
  ],
};

test("has a row for every bucket from the first to the last, with the requests of each outcome", () => {
  const { rows } = toHistogramChart(HISTOGRAM);
  assert.deepEqual(
    rows.map(({ at, values }) => [at / 1000 - HISTOGRAM.from, values]),
    [
      [0, {}],
      [60, { ok: 3, upstream_failed: 1 }],
      [120, {}],
      [180, { no_capacity: 2 }],
      [240, {}],
    ],
  );
  assert.equal(
    toHistogramChart({ ...HISTOGRAM, from: 1_000_050 }).rows[0]?.at,
    1_000_020_000,
    "the bucket began before",
  );
  assert.equal(toHistogramChart({ ...HISTOGRAM, data: [] }).rows.length, 5);
});

test("stacks completed requests below refused and failed ones, and colors each outcome by its tone", () => {
  assert.deepEqual(toHistogramChart(HISTOGRAM).series, [
    { name: "ok", colour: 1 },
    { name: "no_capacity", colour: 3 },
    { name: "upstream_failed", colour: 6 },
  ]);
});

test("converts selected rows to a time span that ends with the last row's bucket and does not begin before the range", () => {
  const histogram = { ...HISTOGRAM, from: 1_000_050 };
  const span = computeSelectedSpan(histogram, { fromMs: 1_000_020_000, toMs: 1_000_140_000 });
  assert.deepEqual(span, { from: new Date(1_000_050_000).toISOString(), to: new Date(1_000_200_000).toISOString() });
});

test("compares with as many buckets before the first one, unless the API counted these in longer buckets", () => {
  const { from, to } = computePreviousSpan(HISTOGRAM);
  assert.deepEqual([Date.parse(from) / 1000, Date.parse(to) / 1000], [1_000_020 - 5 * 60, 1_000_020]);
  const before = {
    ...HISTOGRAM,
    from: 999_720,
    to: 1_000_020,
    data: [{ at: 999_960, outcome: "ok" as const, requests: 7 }],
  };
  assert.deepEqual(
    toPreviousRows(HISTOGRAM, before)?.map(({ values }) => values),
    [{}, {}, {}, {}, { ok: 7 }],
  );
  assert.equal(toPreviousRows(HISTOGRAM, { ...before, bucket_s: 3600 }), undefined);
});

test("sums selected rows by outcome, labeled from the first to the last", () => {
  const { rows } = toHistogramChart(HISTOGRAM);
  const all = sumRows(rows);
  assert.deepEqual(all?.values, { ok: 3, upstream_failed: 1, no_capacity: 2 });
  assert.equal(all?.label, `${rows[0]?.label} – ${rows[4]?.label}`);
  assert.equal(sumRows(rows.slice(1, 2)), rows[1]);
  assert.equal(sumRows([]), undefined);
});

test("counts requests by outcome, most frequent first, and names the bucket's length", () => {
  assert.deepEqual(
    countRequestsByOutcome(HISTOGRAM).map(({ outcome }) => outcome),
    ["ok", "no_capacity", "upstream_failed"],
  );
  assert.deepEqual([60, 900, 3600, 86_400, 604_800 * 4].map(bucketLengthText), [
    "minute",
    "15 minutes",
    "hour",
    "day",
    "4 weeks",
  ]);
});
