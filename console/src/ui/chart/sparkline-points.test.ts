import assert from "node:assert/strict";
import { test } from "node:test";
import { sparklinePoints } from "./sparkline-points.ts";

test("scales a line from edge to edge, with zero at the bottom and the maximum at the top", () => {
  assert.equal(sparklinePoints([0, 5, 10], 100, 20), "0,20 50,10 100,0");
  assert.equal(sparklinePoints([0, 0], 100, 20), "0,20 100,20");
  assert.equal(sparklinePoints([7], 100, 20), "0,0 100,0");
  assert.equal(sparklinePoints([], 100, 20), "");
});
