import assert from "node:assert/strict";
import { test } from "node:test";
import { barPaths, levelOf, lineOfValues, middlesOf, nearest, type Plot } from "./geometry.ts";

const plot: Plot = { left: 10, top: 0, width: 100, height: 50, most: 10 };

test("bars stand in the middle of their room, lines go from edge to edge, a single row is in the middle", () => {
  assert.deepEqual(middlesOf(plot, 2, "bars"), [35, 85]);
  assert.deepEqual(middlesOf(plot, 3, "lines"), [10, 60, 110]);
  assert.deepEqual(middlesOf(plot, 1, "lines"), [60]);
  assert.equal(nearest([10, 60, 110], 84), 1);
  assert.equal(nearest([10, 60, 110], 400), 2);
});

test("zero is at the bottom, the largest mark at the top", () => {
  assert.deepEqual(
    [0, 5, 10].map((value) => levelOf(plot, value)),
    [50, 25, 0],
  );
});

test("series are stacked on one another, and nothing is drawn of nothing", () => {
  const [below, above] = barPaths(plot, [
    [4, 6],
    [0, 5],
  ]);
  assert.equal(below, "M17,50V30h36V50Z");
  assert.equal(above, "M17,30V0h36V30ZM67,50V25h36V50Z");
});

test("a line breaks at a gap; what stands alone is a point", () => {
  const { stroke, area, lonely } = lineOfValues(plot, [10, 5, undefined, 2, undefined]);
  assert.equal(stroke, "M10,0L35,25");
  assert.equal(area, "M10,50L10,0L35,25L35,50Z");
  assert.deepEqual(lonely, [{ x: 85, y: 40 }]);
});
