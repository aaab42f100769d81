import assert from "node:assert/strict";
import { test } from "node:test";
import { blocked, freeFrom, worstShift } from "./figures.ts";

test("a page is free when no long task covers the moment, however they follow one another", () => {
  assert.equal(freeFrom(100, []), 100);
  assert.equal(freeFrom(100, [{ from: 0, to: 90 }]), 100);
  assert.equal(freeFrom(100, [{ from: 120, to: 300 }]), 100);
  assert.equal(
    freeFrom(100, [
      { from: 160, to: 250 },
      { from: 40, to: 160 },
    ]),
    250,
  );
});

test("only what is more than 50 ms of a task, after the first paint and before the page is free, blocks", () => {
  const tasks = [
    { from: 0, to: 90 },
    { from: 180, to: 300 },
    { from: 400, to: 500 },
  ];
  assert.equal(blocked(tasks, 100, 300), 70);
  assert.equal(blocked(tasks, 200, 450), 50);
});

test("shifts count in groups of at most five seconds with gaps under one; the worst group is the figure", () => {
  const at = (...times: number[]) => times.map((time) => ({ at: time, value: 0.1 }));
  const near = (value: number, expected: number) => assert.ok(Math.abs(value - expected) < 1e-9, String(value));
  near(worstShift([]), 0);
  near(worstShift(at(100, 900, 3000)), 0.2);
  near(worstShift(at(0, 900, 1800, 2700, 3600, 4500, 5400)), 0.6);
});
