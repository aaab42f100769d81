import assert from "node:assert/strict";
import { test } from "node:test";
import { stacked } from "./stacked.ts";

const DOLLAR = 1_000_000_000_000n;
const plain = { nameOf: (part: string) => part, labelOf: (bucket: string) => bucket, rounding: "down" as const };

test("every bucket has a bar, also where nothing happened", () => {
  const { series, rows } = stacked({
    ...plain,
    amounts: [
      { bucket: "tue", part: "a", pico: 2n * DOLLAR },
      { bucket: "tue", part: "a", pico: DOLLAR },
    ],
    buckets: ["mon", "tue"],
  });
  assert.deepEqual(series, [{ name: "a", colour: 1 }]);
  assert.deepEqual(
    rows.map(({ label, values, texts }) => [label, values.a, texts?.a]),
    [
      ["mon", 0, "$0.00"],
      ["tue", 3, "$3.00"],
    ],
  );
});

test("the largest parts are named, the rest are one", () => {
  const amounts = Array.from({ length: 8 }, (_, i) => ({ bucket: "mon", part: `p${i}`, pico: BigInt(i + 1) * DOLLAR }));
  const { series, rows } = stacked({ ...plain, amounts, buckets: ["mon"] });
  assert.deepEqual(
    series.map(({ name }) => name),
    ["p7", "p6", "p5", "p4", "p3", "Others"],
  );
  assert.deepEqual(series.at(-1), { name: "Others", colour: 7 });
  assert.equal(rows[0]?.texts?.Others, "$6.00");
});
