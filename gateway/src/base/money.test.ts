import assert from "node:assert/strict";
import { test } from "node:test";
import { ceilMicro, computeCost, dollars, formatExactMicrodollars, pico, roundDownToMicro } from "./money.ts";

test("money: microdollars per million tokens equal picodollars per token, as in the specification's example", () => {
  // The model reason-32b without max_tokens: 32,768 output tokens at $0.30 per million.
  assert.equal(formatExactMicrodollars(computeCost(32_768, pico(300_000n))), "9830.400000");
});

test("money: amounts to pay are rounded up, and available amounts down", () => {
  for (const [amount, up, down] of [
    [0n, 0n, 0n],
    [1n, 1n, 0n],
    [999_999n, 1n, 0n],
    [1_000_000n, 1n, 1n],
    [1_000_001n, 2n, 1n],
    [-1n, 0n, -1n],
    [-1_000_000n, -1n, -1n],
  ] as const) {
    assert.equal(ceilMicro(pico(amount)), up, `ceil ${amount}`);
    assert.equal(roundDownToMicro(pico(amount)), down, `floor ${amount}`);
  }
});

test("money: exact amounts are formatted with six decimals", () => {
  assert.equal(formatExactMicrodollars(pico(-1n)), "-0.000001");
  assert.equal(formatExactMicrodollars(dollars(5)), "5000000.000000");
});
