import assert from "node:assert/strict";
import { test } from "node:test";
import { lineOf } from "./line-of.ts";

test("scales a line from edge to edge, with zero at the bottom and the maximum at the top", () => {
  assert.equal(lineOf([0, 5, 10], 100, 20), "0,20 50,10 100,0");
  assert.equal(lineOf([0, 0], 100, 20), "0,20 100,20");
  assert.equal(lineOf([7], 100, 20), "0,0 100,0");
  assert.equal(lineOf([], 100, 20), "");
});
