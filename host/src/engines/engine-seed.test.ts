import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toEngineSeed } from "./engine-seed.ts";

test("small seeds stay unchanged, and large or negative seeds always map to the same 31-bit value", () => {
  for (const seed of [0, 1, 42, 2 ** 31 - 1]) assert.equal(toEngineSeed(seed), seed);
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** 53) + 1, max: 2 ** 53 - 1 }), (seed) => {
      const folded = toEngineSeed(seed);
      assert.ok(Number.isInteger(folded) && folded >= 0 && folded < 2 ** 31);
      assert.equal(toEngineSeed(seed), folded);
    }),
  );
  assert.notEqual(toEngineSeed(-1), toEngineSeed(-2));
  assert.notEqual(toEngineSeed(2 ** 40), toEngineSeed(2 ** 40 + 2 ** 35));
});
