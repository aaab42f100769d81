import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAmountForInput, PURCHASE_BOUNDS, parseAmount, THRESHOLD_BOUNDS } from "./parse-amount.ts";

test("accepts whole cents within the limits, and names the limits otherwise", () => {
  assert.deepEqual(parseAmount("5", PURCHASE_BOUNDS), { micro: "5000000" });
  assert.deepEqual(parseAmount("$1,234.50", PURCHASE_BOUNDS), { micro: "1234500000" });
  assert.deepEqual(parseAmount("0.01", THRESHOLD_BOUNDS), { micro: "10000" });
  for (const wrong of ["", "4.99", "5000.01", "5.001"]) {
    assert.deepEqual(
      parseAmount(wrong, PURCHASE_BOUNDS),
      { wrong: "Enter an amount from $5.00 to $5,000.00, in whole cents." },
      wrong,
    );
  }
  assert.deepEqual(parseAmount("five", PURCHASE_BOUNDS), {
    wrong: "Enter an amount from $5.00 to $5,000.00, in whole cents.",
  });
  assert.deepEqual(parseAmount("12,50", PURCHASE_BOUNDS), { micro: "12500000" });
  assert.equal(formatAmountForInput("1234500000.000000"), "1234.50");
});
