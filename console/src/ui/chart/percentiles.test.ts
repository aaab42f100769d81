import assert from "node:assert/strict";
import { test } from "node:test";
import { type Percentiles, percentileLines } from "./percentiles.ts";

test("draws three percentile lines, with gaps for times without measurements", () => {
  const none: Percentiles = { p50: null, p95: null, p99: null };
  const { series, rows, format } = percentileLines([
    { at: 1_794_000_000_000, p50: 120, p95: 900, p99: 2400 },
    { at: 1_794_000_300_000, ...none },
  ]);
  assert.deepEqual(
    series.map(({ name }) => name),
    ["p50", "p95", "p99"],
  );
  assert.deepEqual(
    rows.map(({ values }) => values),
    [{ p50: 120, p95: 900, p99: 2400 }, {}],
  );
  assert.equal(format(2400), "2.40 s");
});
