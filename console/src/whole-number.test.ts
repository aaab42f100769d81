import assert from "node:assert/strict";
import { test } from "node:test";
import { parseWholeNumber } from "./whole-number.ts";

test("refuses a comma that does not separate groups of three digits, because elsewhere it is a decimal comma", () => {
  assert.deepEqual(
    ["12,50", "1,5", "1,0000", "1,000,00", ",100", "1000,000"].map(parseWholeNumber),
    Array(6).fill(undefined),
  );
  assert.deepEqual(["1,000,000", "12 500", "1_000"].map(parseWholeNumber), [1_000_000, 12_500, 1000]);
});

test("parses whole numbers with or without commas", () => {
  assert.deepEqual(["1,000", " 20 ", "0", "1.5", "-3", "", "999999999999"].map(parseWholeNumber), [
    1000,
    20,
    0,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
