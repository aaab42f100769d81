import assert from "node:assert/strict";
import { test } from "node:test";
import { PURCHASE_BOUNDS, readAmount, THRESHOLD_BOUNDS, typedAmount } from "./amounts.ts";

test("accepts whole cents within the limits, and names the limits otherwise", () => {
  assert.deepEqual(readAmount("5", PURCHASE_BOUNDS), { micro: "5000000" });
  assert.deepEqual(readAmount("$1,234.50", PURCHASE_BOUNDS), { micro: "1234500000" });
  assert.deepEqual(readAmount("0.01", THRESHOLD_BOUNDS), { micro: "10000" });
  for (const wrong of ["", "4.99", "5000.01", "5.001"]) {
    assert.deepEqual(
      readAmount(wrong, PURCHASE_BOUNDS),
      { wrong: "Enter an amount from $5.00 to $5,000.00, in whole cents." },
      wrong,
    );
  }
  assert.deepEqual(readAmount("five", PURCHASE_BOUNDS), {
    wrong: "Enter an amount from $5.00 to $5,000.00, in whole cents.",
  });
  assert.deepEqual(readAmount("12,50", PURCHASE_BOUNDS), { micro: "12500000" });
  assert.equal(typedAmount("1234500000.000000"), "1234.50");
});
