import assert from "node:assert/strict";
import { test } from "node:test";
import { pico } from "../../base/money.ts";
import { formatDollars } from "./format-dollars.ts";

test("exact dollar amounts are formatted with as many digits as needed", () => {
  for (const [amount, text] of [
    [0n, "$0.00"],
    [5_250_000_000_000n, "$5.25"],
    [9_830_400_000n, "$0.0098304"],
    [1n, "$0.000000000001"],
    [-1_500_000_000_000n, "-$1.50"],
    [9_000_000_000_000_000_000_000_001n, "$9000000000000.000000000001"],
  ] as [bigint, string][])
    assert.equal(formatDollars(pico(amount)), text);
});
