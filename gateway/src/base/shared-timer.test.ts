/** Tests that periodic tasks share timer wake-ups. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openSharedTimer } from "./shared-timer.ts";
import { manualClock } from "./testing.ts";

/**
 * A shared timer on a clock that counts its wake-ups. The timer can wake up at time zero and every half second after
 * it.
 */
function open() {
  const clock = manualClock(0);
  let woken = 0;
  const every = openSharedTimer({
    monotonic: clock.monotonic,
    after: (delayMs, task) =>
      clock.after(delayMs, () => {
        woken += 1;
        task();
      }),
  });
  const done: string[] = [];
  const does = (periodMs: number, what: string) => every(periodMs, () => done.push(what));
  return { clock, every, does, done, woken: () => woken };
}

test("the shared timer runs each task at its interval until canceled; tasks due in the same half second run together", () => {
  const { clock, does, done } = open();
  const stops = [does(500, "half"), does(1_000, "second")];
  clock.advance(1_000);
  assert.deepEqual(done.splice(0), ["half", "half", "second"]);
  stops[1]?.();
  // The task is added 200 ms after a possible wake-up, so its first run comes 200 ms earlier than its period.
  clock.advance(200);
  stops.push(does(1_000, "later"));
  clock.advance(800);
  assert.deepEqual(done.splice(0), ["half", "half", "later"]);
  for (const stop of stops) stop();
  clock.advance(5_000);
  assert.deepEqual(done, []);
});

test("the shared timer runs tasks with intervals of 2, 4 and 10 s at the same wake-ups, one every 2 s", () => {
  const { clock, does, done, woken } = open();
  clock.advance(700);
  does(2_000, "two");
  clock.advance(900);
  does(4_000, "four");
  clock.advance(1_100);
  does(10_000, "ten");
  clock.advance(20_000 - clock.monotonic());
  assert.equal(woken(), 10);
  assert.equal(done.join(" "), "two two four two two four two two four ten two two four two two four");
});

test("the shared timer runs a new task on time although its next wake-up was set for a later task", () => {
  const { clock, does, done } = open();
  does(10_000, "ten");
  clock.advance(600);
  does(500, "half");
  clock.advance(399);
  assert.deepEqual(done, []);
  clock.advance(1);
  assert.deepEqual(done, ["half"]);
});

test("the shared timer lets a task cancel or start another, and isolates other tasks from its error", () => {
  const { clock, every, does, done } = open();
  const stopFirst = every(500, () => {
    done.push("first");
    stopSecond();
    does(500, "third");
    stopFirst();
    throw new Error("of the first");
  });
  const stopSecond = does(500, "second");
  assert.throws(() => clock.advance(500), /of the first/);
  clock.advance(500);
  assert.deepEqual(done, ["first", "third"]);
});

test("the shared timer runs each task once after the process was frozen, and then at its interval", () => {
  const { clock, does, done } = open();
  does(500, "half");
  does(2_000, "two");
  clock.freeze(9_300);
  assert.deepEqual(done.splice(0), ["half", "two"]);
  clock.advance(700);
  assert.deepEqual(done, ["half", "half", "two"]);
});

test("the shared timer counts a wake-up that comes slightly early as on time", () => {
  const clock = manualClock(0);
  const every = openSharedTimer({
    monotonic: clock.monotonic,
    after: (delayMs, task) => clock.after(delayMs - 1, task),
  });
  let done = 0;
  every(500, () => {
    done += 1;
  });
  clock.advance(5_000);
  assert.equal(done, 10);
});
