import assert from "node:assert/strict";
import { test } from "node:test";
import { startEarly } from "./ahead.ts";
import { turn } from "./testing.ts";

function open(make: () => string) {
  const tasks: (() => void)[] = [];
  let made = 0;
  const take = startEarly({ soon: (task) => tasks.push(task) }, () => {
    made += 1;
    return make();
  });
  return { tasks, take, made: () => made };
}

test("runs the work once, after tasks that were queued earlier", async () => {
  const { tasks, take, made } = open(() => "done");
  await turn();
  assert.equal(made(), 0);
  for (const task of tasks) task();
  assert.equal(made(), 1);
  assert.deepEqual([take(), take()], ["done", "done"]);
  assert.equal(made(), 1);
});

test("runs the work immediately when the result is requested, and only once", () => {
  const { tasks, take, made } = open(() => "done");
  assert.equal(take(), "done");
  for (const task of tasks) task();
  assert.equal(made(), 1);
});

test("throws an error of the work to the caller that requests the result", () => {
  const { tasks, take, made } = open(() => {
    throw new Error("broken");
  });
  for (const task of tasks) task();
  assert.throws(take, /broken/);
  assert.throws(take, /broken/);
  assert.equal(made(), 1);
});
