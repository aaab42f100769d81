import assert from "node:assert/strict";
import { test } from "node:test";
import {
  computeLine,
  computeRowMiddles,
  computeVerticalPosition,
  findNearestRow,
  formatBarPaths,
  type PlotArea,
  stepPath,
} from "./geometry.ts";

const plot: PlotArea = { left: 10, top: 0, width: 100, height: 50, most: 10 };

test("centers each bar in its column, spreads the points of a line from edge to edge, and centers a single point", () => {
  assert.deepEqual(computeRowMiddles(plot, 2, "bars"), [35, 85]);
  assert.deepEqual(computeRowMiddles(plot, 3, "lines"), [10, 60, 110]);
  assert.deepEqual(computeRowMiddles(plot, 1, "lines"), [60]);
  assert.equal(findNearestRow([10, 60, 110], 84), 1);
  assert.equal(findNearestRow([10, 60, 110], 400), 2);
});

test("puts zero at the bottom and the axis's largest tick at the top", () => {
  assert.deepEqual(
    [0, 5, 10].map((value) => computeVerticalPosition(plot, value)),
    [50, 25, 0],
  );
});

test("stacks series, and draws nothing without data", () => {
  const [below, above] = formatBarPaths(plot, [
    [4, 6],
    [0, 5],
  ]);
  assert.equal(below, "M17,50V30h36V50Z");
  assert.equal(above, "M17,30V0h36V30ZM67,50V25h36V50Z");
});

test("breaks a line at a gap, and draws isolated values as points", () => {
  const { stroke, area, lonely } = computeLine(plot, [10, 5, undefined, 2, undefined]);
  assert.equal(stroke, "M10,0L35,25");
  assert.equal(area, "M10,50L10,0L35,25L35,50Z");
  assert.deepEqual(lonely, [{ x: 85, y: 40 }]);
});

test("reduces a line to one set of points per pixel, keeping its ends and extremes", () => {
  const values = Array.from({ length: 1000 }, (_, i) => (i === 503 ? 10 : i === 507 ? 0 : 5));
  const { stroke } = computeLine(plot, values);
  const levels = stroke.split(/[ML]/).flatMap((point) => (point === "" ? [] : [Number(point.split(",")[1])]));
  assert.ok(levels.length < 400, `${levels.length} points are drawn`);
  assert.deepEqual([levels[0], levels.at(-1)], [25, 25]);
  assert.deepEqual(
    levels.filter((level) => level !== 25),
    [0, 50],
  );
});

test("draws the previous period as a stepped line, with gaps for missing values", () => {
  assert.equal(stepPath(plot, [10, 5]), "M10,0H60V25H110");
  assert.equal(stepPath(plot, [undefined, 5]), "M60,25H110");
});
