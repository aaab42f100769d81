import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "../clock.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { TurnEnd } from "./turn-end.ts";

test("what is added in a turn is done at its end, in order and in one go; what is added meanwhile, at the next", async () => {
  const clock = new ManualClock();
  const turnEnd = new TurnEnd(clock);
  const done: string[] = [];
  turnEnd.add(() => {
    done.push("first");
    queueMicrotask(() => done.push("between"));
    turnEnd.add(() => done.push("next"));
  });
  turnEnd.add(() => done.push("second"));
  assert.deepEqual(done, []);
  await turn(clock);
  assert.deepEqual(done, ["first", "second", "between"]);
  await turn(clock);
  assert.deepEqual(done, ["first", "second", "between", "next"]);
});
