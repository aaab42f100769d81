import assert from "node:assert/strict";
import { test } from "node:test";
import { stackAmounts } from "./stack-amounts.ts";

const DOLLAR = 1_000_000_000_000n;
const plain = { nameOf: (part: string) => part, labelOf: (bucket: string) => bucket };

test("a stacked chart has a bar for every bucket, including empty ones", () => {
  const { series, rows } = stackAmounts({
    ...plain,
    amounts: [
      { bucket: "2026-11-17", part: "a", pico: 2n * DOLLAR },
      { bucket: "2026-11-17", part: "a", pico: DOLLAR },
    ],
    buckets: ["2026-11-16", "2026-11-17"],
  });
  assert.deepEqual(series, [{ name: "a", colour: 1 }]);
  assert.deepEqual(
    rows.map(({ label, values, texts }) => [label, values.a, texts?.a]),
    [
      ["2026-11-16", 0, "$0.00"],
      ["2026-11-17", 3, "$3.00"],
    ],
  );
});

test("shows the five largest parts by name, and combines the rest as Others", () => {
  const amounts = Array.from({ length: 8 }, (_, i) => ({
    bucket: "2026-11-16",
    part: `p${i}`,
    pico: BigInt(i + 1) * DOLLAR,
  }));
  const { series, rows } = stackAmounts({ ...plain, amounts, buckets: ["2026-11-16"] });
  assert.deepEqual(
    series.map(({ name }) => name),
    ["p7", "p6", "p5", "p4", "p3", "Others"],
  );
  assert.deepEqual(series.at(-1), { name: "Others", colour: 7 });
  assert.equal(rows[0]?.texts?.Others, "$6.00");
});

test("labels bars with amounts that add up and have equal decimals", () => {
  const { rows } = stackAmounts({
    ...plain,
    amounts: [
      { bucket: "2026-11-14", part: "a", pico: 4_320_000n },
      { bucket: "2026-11-15", part: "b", pico: DOLLAR },
    ],
    buckets: ["2026-11-14", "2026-11-15"],
  });
  assert.deepEqual(
    rows.map(({ at, texts }) => [at, texts?.a, texts?.b]),
    [
      [Date.parse("2026-11-14"), "$0.00000432", "$0.00000000"],
      [Date.parse("2026-11-15"), "$0.00000000", "$1.00000000"],
    ],
  );
});

test("shows the same parts for the previous period as for the current one, and combines the rest as Others", () => {
  const { rows, earlier } = stackAmounts({
    ...plain,
    amounts: [{ bucket: "2026-11-16", part: "a", pico: DOLLAR }],
    buckets: ["2026-11-16"],
    before: {
      amounts: [
        { bucket: "2026-11-15", part: "a", pico: 2n * DOLLAR },
        { bucket: "2026-11-15", part: "gone", pico: 3n * DOLLAR },
      ],
      buckets: ["2026-11-15"],
    },
  });
  assert.deepEqual(rows[0]?.values, { a: 1 });
  assert.deepEqual(earlier?.[0]?.values, { a: 2, Others: 3 });
});
