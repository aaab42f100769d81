import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { UsageRow } from "../api/answer-types.ts";
import { computeBucketedSpan } from "../time-range.ts";
import { listSpendParts, stackSpend } from "./spend-charts.ts";

const NOW = Date.parse("2026-11-15T06:40:00Z");
const row = (day: string, model: string, charge_micro: string): UsageRow => ({
  day,
  model,
  requests: 1,
  prompt_tokens: 1,
  completion_tokens: 1,
  charge_micro,
});
const stack = (rows: UsageRow[]) =>
  stackSpend({
    rows,
    span: computeBucketedSpan("7d", NOW),
    split: "model",
    nameOf: (part) => part,
    labelOf: (bucket) => bucket,
  });

describe("the spend chart", () => {
  test("stacks models or keys, largest first, with zero for empty buckets", () => {
    const { series, rows } = stack([
      row("2026-11-14", "small", "1.000000"),
      row("2026-11-14", "large", "900000.000000"),
      row("2026-11-15", "small", "2.000000"),
      row("2026-11-15", "", "0.000000"),
    ]);
    assert.deepEqual(
      series.map(({ name }) => name),
      ["large", "small"],
    );
    assert.deepEqual(rows.at(-2)?.texts, { large: "$0.900000", small: "$0.000001" });
    assert.deepEqual(rows.at(-1)?.values, { large: 0, small: 0.000002 });
    assert.deepEqual(rows[0]?.values, { large: 0, small: 0 });
  });

  test("combines the models with the lowest cost as Others", () => {
    const many = Array.from({ length: 9 }, (_, i) => row("2026-11-15", `m${i}`, `${9 - i}.000000`));
    const { series, rows } = stack(many);
    assert.deepEqual(
      series.map(({ name }) => name),
      ["m0", "m1", "m2", "m3", "m4", "Others"],
    );
    assert.equal(rows.at(-1)?.texts?.Others, "$0.000010");
  });

  test("lists models or keys by cost, with the same number of decimals in every amount", () => {
    const rows = [
      row("2026-11-14", "a", "1.200000"),
      row("2026-11-15", "b", "5000000.000000"),
      row("2026-11-15", "a", "1.000000"),
    ];
    assert.deepEqual(
      listSpendParts({ rows, split: "model", nameOf: (part) => part }).map(({ name, text }) => [name, text]),
      [
        ["b", "$5.00000000"],
        ["a", "$0.00000220"],
      ],
    );
  });
});
