/** The system's clock: what is done again and again, together where it can be. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { systemClock as clock } from "./clock.ts";

describe("every", () => {
  test("what is due in the same half second is done in one turn, each at its own pace, until it is cancelled", (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const done: string[] = [];
    const stops = [
      clock.every(500, () => done.push("half")),
      clock.every(1_000, () => done.push("second")),
      clock.every(300, () => done.push("odd")),
    ];
    t.mock.timers.tick(1_000);
    assert.deepEqual(done.splice(0), ["odd", "half", "odd", "odd", "half", "second"]);
    for (const stop of stops.slice(1)) stop();
    // It begins between two beats, and comes no later than its period.
    t.mock.timers.tick(200);
    stops.push(clock.every(1_000, () => done.push("later")));
    t.mock.timers.tick(800);
    assert.deepEqual(done.splice(0), ["half", "half", "later"]);
    for (const stop of stops) stop();
    t.mock.timers.tick(5_000);
    assert.deepEqual(done, []);
  });

  test("one of them may end another, and begin one", (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const done: string[] = [];
    const stops: (() => void)[] = [];
    const stopFirst = clock.every(500, () => {
      done.push("first");
      stopSecond();
      stops.push(clock.every(500, () => done.push("third")));
      stopFirst();
    });
    const stopSecond = clock.every(500, () => done.push("second"));
    t.mock.timers.tick(1_000);
    for (const stop of stops) stop();
    assert.deepEqual(done, ["first", "third"]);
  });
});
