import assert from "node:assert/strict";
import { test } from "node:test";
import { openDeadlines } from "./deadlines.ts";
import { manualClock } from "./testing.ts";

test("a deadline fires once, on time or shortly afterwards, unless it was removed", () => {
  const clock = manualClock();
  const passed: string[] = [];
  const deadlines = openDeadlines<string>(clock, 1_000, (thing) => passed.push(thing));
  deadlines.add("first");
  clock.advance(400);
  deadlines.add("second");
  const over = deadlines.add("over");
  clock.advance(599);
  assert.deepEqual(passed, []);
  deadlines.delete(over);
  clock.advance(1);
  assert.deepEqual(passed, ["first"]);
  clock.advance(399);
  assert.deepEqual(passed, ["first"]);
  clock.advance(251);
  assert.deepEqual(passed, ["first", "second"]);
  clock.advance(10_000);
  deadlines.add("third");
  clock.advance(1_000);
  assert.deepEqual(passed, ["first", "second", "third"]);
});
