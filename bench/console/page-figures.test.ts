import assert from "node:assert/strict";
import { test } from "node:test";
import { computeWorstLayoutShift, findFirstIdleMoment, totalBlockingTime } from "./page-figures.ts";

test("a page counts as interactive from the first moment after first paint that is outside all long tasks", () => {
  assert.equal(findFirstIdleMoment(100, []), 100);
  assert.equal(findFirstIdleMoment(100, [{ from: 0, to: 90 }]), 100);
  assert.equal(findFirstIdleMoment(100, [{ from: 120, to: 300 }]), 100);
  assert.equal(
    findFirstIdleMoment(100, [
      { from: 160, to: 250 },
      { from: 40, to: 160 },
    ]),
    250,
  );
});

test("a page's blocking time is the sum of each task's time above 50 ms between the first paint and the moment it is interactive", () => {
  const tasks = [
    { from: 0, to: 90 },
    { from: 180, to: 300 },
    { from: 400, to: 500 },
  ];
  assert.equal(totalBlockingTime(tasks, 100, 300), 70);
  assert.equal(totalBlockingTime(tasks, 200, 450), 50);
});

test("layout shifts are grouped in windows of 5 s with gaps under 1 s, and the worst window counts", () => {
  const at = (...times: number[]) => times.map((time) => ({ at: time, value: 0.1 }));
  const near = (value: number, expected: number) => assert.ok(Math.abs(value - expected) < 1e-9, String(value));
  near(computeWorstLayoutShift([]), 0);
  near(computeWorstLayoutShift(at(100, 900, 3000)), 0.2);
  near(computeWorstLayoutShift(at(0, 900, 1800, 2700, 3600, 4500, 5400)), 0.6);
});
