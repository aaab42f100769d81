import assert from "node:assert/strict";
import { test } from "node:test";
import { parseWholeNumber } from "./whole-number.ts";

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
