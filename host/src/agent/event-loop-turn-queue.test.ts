import assert from "node:assert/strict";
import { test } from "node:test";
import { waitOneTurn } from "../clock.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { EventLoopTurnQueue } from "./event-loop-turn-queue.ts";

test("runs tasks in order at the end of the event loop's turn, and tasks added by them in the next turn", async () => {
  const clock = new ManualClock();
  const turnEnd = new EventLoopTurnQueue(clock);
  const done: string[] = [];
  turnEnd.add(() => {
    done.push("first");
    queueMicrotask(() => done.push("between"));
    turnEnd.add(() => done.push("next"));
  });
  turnEnd.add(() => done.push("second"));
  assert.deepEqual(done, []);
  await waitOneTurn(clock);
  assert.deepEqual(done, ["first", "second", "between"]);
  await waitOneTurn(clock);
  assert.deepEqual(done, ["first", "second", "between", "next"]);
});
