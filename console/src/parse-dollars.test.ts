import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { DecimalSign } from "./locale.ts";
import { describeParsedDollars, parseDollars } from "./parse-dollars.ts";

const cents = (pico: bigint): number => Number(pico / 10_000_000n) / 1000;
const read = (text: string, decimal: DecimalSign): number | string => {
  const found = parseDollars(text, decimal);
  return "pico" in found ? cents(found.pico) : found.wrong;
};

test("parses one or two digits after a comma as cents", () => {
  for (const decimal of [".", ","] as const) {
    assert.equal(read("12,50", decimal), 1250);
    assert.equal(read("12.50", decimal), 1250);
    assert.equal(read("12,5", decimal), 1250);
    assert.equal(read("0,05", decimal), 5);
    assert.equal(read("$ 1250", decimal), 125_000);
  }
});

test("accepts the thousands separators of every locale", () => {
  for (const decimal of [".", ","] as const) {
    assert.equal(read("1,234.50", decimal), 123_450);
    assert.equal(read("1.234,50", decimal), 123_450);
    assert.equal(read("1\u202f234,50", decimal), 123_450);
    assert.equal(read("1,234,567", decimal), 123_456_700);
    assert.equal(read("0,125", decimal), 12.5);
  }
});

test("resolves an ambiguous amount in locales with decimal points, and refuses it in locales with decimal commas", () => {
  assert.equal(read("1,000", "."), 100_000);
  assert.equal(read("1.000", "."), 100);
  for (const text of ["1,000", "1.000"]) {
    assert.equal(read(text, ","), "This amount can mean $1,000.00 or $1.00. Type 1000 or 1.0000.");
  }
});

test("refuses invalid amounts", () => {
  for (const text of ["", "-5", "5.1234567", "five", "1,23,456", "1.234.5", "1,2,3", "12 34", "1,234,56.7"]) {
    for (const decimal of [".", ","] as const) {
      assert.equal(read(text, decimal), "Enter an amount in dollars, such as 12.50.", text);
    }
  }
});

test("formats accepted amounts so that they can be typed again in any locale", () => {
  const decimal = fc.constantFrom<DecimalSign>(".", ",");
  const text = fc.stringMatching(/^\d{1,4}([., ]\d{1,4}){0,2}$/);
  fc.assert(
    fc.property(text, decimal, decimal, (typed, of, other) => {
      const shown = describeParsedDollars(typed, of);
      if (shown !== undefined) assert.equal(describeParsedDollars(shown, other), shown);
    }),
  );
});
