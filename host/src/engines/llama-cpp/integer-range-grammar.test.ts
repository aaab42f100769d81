import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { buildIntegerRangeGrammar } from "./integer-range-grammar.ts";

/** Converts the grammar to a regular expression. The GBNF used here differs from one only in quotes and spaces. */
const accepts = (range: { min?: number; max?: number }): RegExp =>
  new RegExp(`^(?:${(buildIntegerRangeGrammar(range) ?? "(?!)").replaceAll(/["\s]/g, "")})$`);

test("the grammar of an integer range accepts an integer exactly when it lies in the range", () => {
  const bound = fc.option(fc.oneof(fc.integer({ min: -1_200, max: 1_200 }), fc.maxSafeInteger()), { nil: undefined });
  fc.assert(
    fc.property(bound, bound, fc.array(fc.integer({ min: -1_300, max: 1_300 })), (min, max, others) => {
      const range = { ...(min !== undefined && { min }), ...(max !== undefined && { max }) };
      const grammar = accepts(range);
      for (const near of [...others, ...[min, max].flatMap((at) => (at === undefined ? [] : [at - 1, at, at + 1]))]) {
        const isShort = Math.abs(near) < 1e15;
        const isIn = near >= (min ?? near) && near <= (max ?? near);
        assert.equal(grammar.test(String(near)), isShort && isIn, `${near} in ${min} to ${max}`);
      }
      for (const wrong of ["-0", "01", "", "-", "1.0", "1e3"]) assert.ok(!grammar.test(wrong), wrong);
    }),
  );
});

test("the grammar is undefined if no integer is in the range", () => {
  assert.equal(buildIntegerRangeGrammar({ min: 2, max: 1 }), undefined);
  assert.equal(buildIntegerRangeGrammar({ min: 0.2, max: 0.8 }), undefined);
  assert.equal(buildIntegerRangeGrammar({ min: 1e300 }), undefined);
  assert.equal(buildIntegerRangeGrammar({ min: 0.5, max: 3 }), "[1-3]");
});
