import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "./clock.ts";
import { watchLoopDelay } from "./event-loop-delay.ts";
import { manualClock } from "./testing.ts";

/** Asserts equality within the histogram's precision of three digits. */
function near(found: number, expected: number): void {
  assert.ok(Math.abs(found - expected) < expected / 500, `${found} is not ${expected}`);
}

function watched(utilization: () => number) {
  const hands = manualClock();
  let looks = 0;
  const clock: Clock = {
    ...hands,
    every: (periodMs, task) =>
      hands.every(periodMs, () => {
        looks += 1;
        task();
      }),
  };
  return { delay: watchLoopDelay({ clock, utilization }), hands, looks: () => looks };
}

test("the delay monitor samples every two seconds while the event loop is idle, and reports the delay", () => {
  const { delay, hands, looks } = watched(() => 0.001);
  hands.advance(30_000);
  assert.equal(looks(), 15);
  const { min, max, p99 } = delay.read();
  for (const figure of [min, max, p99]) near(figure, 0.01);
});

test("the delay monitor samples a hundred times a second while the event loop is busy", () => {
  let utilization = 0.5;
  const { delay, hands, looks } = watched(() => utilization);
  hands.advance(2_000);
  assert.equal(looks(), 1);
  hands.advance(2_000);
  assert.equal(looks(), 201);
  utilization = 0;
  hands.advance(2_000);
  assert.equal(looks(), 401);
  hands.advance(10_000);
  assert.equal(looks(), 406);
  delay.stop();
  hands.advance(10_000);
  assert.equal(looks(), 406);
});

test("the delay monitor reports a pause of the busy event loop in full and once", () => {
  const { delay, hands } = watched(() => 0.5);
  hands.advance(5_000);
  hands.freeze(300);
  const { max, p99, last } = delay.read();
  near(max, 0.3);
  // The pause is one of five hundred samples, so it does not affect this percentile.
  near(p99, 0.01);
  assert.ok(last < max, "what fell due meanwhile ran at once");
  hands.advance(1_000);
  near(delay.read().max, 0.01);
});

test("the delay monitor counts samples that it skips while idle as on time, so one late sample leaves the p99 unchanged", () => {
  const { delay, hands } = watched(() => 0);
  hands.advance(98_000);
  hands.freeze(2_400);
  const { max, p99 } = delay.read();
  near(max, 0.41);
  near(p99, 0.01);
});

test("the delay monitor returns the previous figures if it is read twice in quick succession", () => {
  const { delay, hands } = watched(() => 0);
  hands.advance(2_000);
  delay.read();
  const { min, max, mean, stddev } = delay.read();
  for (const figure of [min, max, mean]) near(figure, 0.01);
  assert.equal(stddev, 0);
});
