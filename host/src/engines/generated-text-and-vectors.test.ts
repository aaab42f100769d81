import assert from "node:assert/strict";
import { test } from "node:test";
import { generateShortProse, makeUnitVector } from "./generated-text-and-vectors.ts";

test("generates the same prose for the same seed text, and different prose for another seed text", () => {
  assert.equal([...generateShortProse("a")].join(""), [...generateShortProse("a")].join(""));
  assert.notEqual([...generateShortProse("a")].join(""), [...generateShortProse("b")].join(""));
});

test("a short prose text has about a hundred words and full stops, and ends with a full stop", () => {
  for (const key of ["a", "b", "c", "d", "e"]) {
    const units = [...generateShortProse(key)];
    assert.ok(units.length >= 95 && units.length <= 110, `${units.length} units`);
    assert.match(units.join(""), /^[A-Z][a-zA-Z ]+\.( [A-Z][a-zA-Z ]+\.)+$/);
  }
});

test("a unit vector depends only on its text, and differs between texts", () => {
  const vector = makeUnitVector("hello", 1024);
  assert.equal(vector.length, 1024);
  assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5);
  assert.deepEqual(makeUnitVector("hello", 1024), vector);
  const other = makeUnitVector("hello!", 1024);
  const cosine = vector.reduce((sum, value, i) => sum + value * (other[i] ?? 0), 0);
  assert.ok(Math.abs(cosine) < 0.3, `cosine ${cosine}`);
});
