import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BUCKETED_RANGES,
  computeBucketedSpan,
  computePreviousSpan,
  findRangeStart,
  formatBucketNames,
  isTimeRange,
  TIME_RANGES,
} from "./time-range.ts";

const NOW = Date.parse("2026-11-15T06:40:00Z");

test("splits the range 24h into 24 whole hours, the last of which is the current hour", () => {
  const span = computeBucketedSpan("24h", NOW);
  const names = formatBucketNames(span);
  assert.deepEqual(
    [span.by, names.length, names[0], names.at(-1)],
    ["hour", 24, "2026-11-14T07:00:00Z", "2026-11-15T06:00:00Z"],
  );
  assert.equal(span.from.toISOString(), "2026-11-14T07:00:00.000Z");
});

test("splits a week into seven UTC days and a month into thirty, including today", () => {
  assert.deepEqual(formatBucketNames(computeBucketedSpan("7d", NOW)).slice(-2), ["2026-11-14", "2026-11-15"]);
  assert.equal(computeBucketedSpan("7d", NOW).starts.length, 7);
  const month = computeBucketedSpan("30d", NOW);
  assert.deepEqual([month.by, month.starts.length], ["day", 30]);
  assert.equal(month.from.toISOString(), "2026-10-17T00:00:00.000Z");
});

test("accepts only known ranges, and counts them back from now", () => {
  assert.deepEqual(
    TIME_RANGES.map((range) => (NOW - findRangeStart(range, NOW).getTime()) / 3_600_000),
    [1, 6, 24, 168, 720, 2160],
  );
  assert.equal(computeBucketedSpan("90d", NOW).starts.length, 90);
  assert.ok(BUCKETED_RANGES.every(isTimeRange));
  assert.deepEqual(["", "1d", undefined, ["7d"]].map(isTimeRange), [false, false, false, false]);
});

test("gives the previous period the same number of buckets, ending where the period begins", () => {
  const now = Date.parse("2026-11-18T06:30:00Z");
  const edges = (range: "24h" | "7d"): string[] => {
    const { starts } = computePreviousSpan(computeBucketedSpan(range, now));
    return [starts[0], starts.at(-1)].map((start) => start?.toISOString() ?? "");
  };
  assert.deepEqual(edges("24h"), ["2026-11-16T07:00:00.000Z", "2026-11-17T06:00:00.000Z"]);
  assert.deepEqual(edges("7d"), ["2026-11-05T00:00:00.000Z", "2026-11-11T00:00:00.000Z"]);
});
