import assert from "node:assert/strict";
import { test } from "node:test";
import { describeChart } from "./chart-summary.ts";

const rows = [
  { label: "Nov 14 UTC", at: 1, values: { a: 1, b: 4 } },
  { label: "Nov 15 UTC", at: 2, values: { a: 3 } },
  { label: "Nov 16 UTC", at: 3, values: { a: 2, b: 1 } },
];
const series = [
  { name: "a", colour: 1 },
  { name: "b", colour: 2 },
];
const format = (value: number): string => `$${value}`;

test("describes bars by their sum and their highest value", () => {
  assert.equal(
    describeChart({ kind: "bars", format, series, rows }),
    "3 values, Nov 14 UTC to Nov 16 UTC. a: $6 in total, at most $3 at Nov 15 UTC. b: $5 in total, at most $4 at Nov 14 UTC. " +
      "Highest overall: $5 at Nov 14 UTC.",
  );
});

test("includes only visible series", () => {
  const shown = describeChart({ kind: "bars", format, series: series.slice(0, 1), rows });
  assert.equal(shown, "3 values, Nov 14 UTC to Nov 16 UTC. a: $6 in total, at most $3 at Nov 15 UTC.");
});

test("describes lines by their lowest, highest and last value, skipping gaps", () => {
  assert.equal(
    describeChart({ kind: "lines", format, series: series.slice(1), rows }),
    "3 values, Nov 14 UTC to Nov 16 UTC. b: $1 at Nov 16 UTC to $4 at Nov 14 UTC, last $1.",
  );
  assert.match(describeChart({ kind: "lines", format, series: [{ name: "c", colour: 1 }], rows }), /c: no data\./);
  assert.equal(describeChart({ kind: "lines", format, series, rows: [] }), "No data.");
});
