import assert from "node:assert/strict";
import { test } from "node:test";
import { runBeforeNeeded } from "./run-before-needed.ts";
import { waitOneTurn } from "./testing.ts";

function open(make: () => string) {
  const tasks: (() => void)[] = [];
  let made = 0;
  const take = runBeforeNeeded({ soon: (task) => tasks.push(task) }, () => {
    made += 1;
    return make();
  });
  return { tasks, take, made: () => made };
}

test("work scheduled early runs once, after tasks that were queued before it", async () => {
  const { tasks, take, made } = open(() => "done");
  await waitOneTurn();
  assert.equal(made(), 0);
  for (const task of tasks) task();
  assert.equal(made(), 1);
  assert.deepEqual([take(), take()], ["done", "done"]);
  assert.equal(made(), 1);
});

test("work scheduled early runs immediately when its result is requested, and only once", () => {
  const { tasks, take, made } = open(() => "done");
  assert.equal(take(), "done");
  for (const task of tasks) task();
  assert.equal(made(), 1);
});

test("work scheduled early that throws passes its error to the caller that requests the result", () => {
  const { tasks, take, made } = open(() => {
    throw new Error("broken");
  });
  for (const task of tasks) task();
  assert.throws(take, /broken/);
  assert.throws(take, /broken/);
  assert.equal(made(), 1);
});
