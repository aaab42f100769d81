import assert from "node:assert/strict";
import { test } from "node:test";
import { describeCreditTimeLeft } from "./credit-time-left.ts";

test("shows the time until the credit runs out, rounded down", () => {
  const day = 86_400;
  for (const [seconds, text] of [
    [null, "Nothing spent yet"],
    [0, "Used up"],
    [60, "Less than two hours"],
    [7_200, "About 2 hours"],
    [2 * day - 1, "About 47 hours"],
    [12 * day + 80_000, "About 12 days"],
    [365 * day, "About 365 days"],
    [365 * day + 1, "More than a year"],
  ] as const) {
    assert.equal(describeCreditTimeLeft(seconds), text);
  }
});
