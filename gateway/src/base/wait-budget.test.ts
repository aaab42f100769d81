import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { manualClock, waitOneTurn } from "./testing.ts";
import { openWaitBudgets } from "./wait-budget.ts";

const MAX_MS = 4_000;
/** Budgets are checked at intervals of a quarter. */
const LATEST_MS = 5_000;

function open() {
  const clock = manualClock();
  const budgets = openWaitBudgets({ clock, maxMs: MAX_MS, tooLong: () => new Error("too long") });
  /** A wait that ends when the test says so. */
  const wait = <T>() => Promise.withResolvers<T>();
  return { clock, budget: budgets.begin(), wait };
}

/** The outcome of a promise, or "open" if it has none yet. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  const open = waitOneTurn().then(() => "open");
  return await Promise.race([promise.catch((error: Error) => error.message), open]);
}

describe("a budget for several waits", () => {
  test("passes on the results and errors of waits that end in time, and values that need no wait", async () => {
    const { budget, wait } = open();
    const [first, second] = [wait<string>(), wait<string>()];
    const results = [budget.of(first.promise), budget.of(second.promise)];
    first.resolve("done");
    second.reject(new Error("refused"));
    assert.deepEqual(await Promise.all(results.map(stateOf)), ["done", "refused"]);
    assert.equal(await budget.of(true), true);
  });

  test("ends the wait in which the sum is used up, and every later one at once", async () => {
    const { clock, budget, wait } = open();
    const [first, second] = [wait<string>(), wait<string>()];
    const one = budget.of(first.promise);
    clock.advance(3_000);
    first.resolve("in time");
    assert.equal(await one, "in time");
    const two = budget.of(second.promise);
    clock.advance(999);
    assert.equal(await stateOf(two), "open");
    clock.advance(LATEST_MS - 3_999);
    assert.equal(await stateOf(two), "too long");
    assert.equal(await stateOf(budget.of(Promise.resolve("never read"))), "too long");
    assert.equal(await stateOf(budget.of("never read")), "too long");
  });

  test("does not count the time between waits, such as that of a slow upload", async () => {
    const { clock, budget, wait } = open();
    const [first, second] = [wait<string>(), wait<string>()];
    const one = budget.of(first.promise);
    clock.advance(3_000);
    first.resolve("in time");
    await one;
    clock.advance(60_000);
    const two = budget.of(second.promise);
    clock.advance(999);
    assert.equal(await stateOf(two), "open");
    clock.advance(1);
    assert.equal(await stateOf(two), "too long");
  });

  test("counts the time of concurrent waits once", async () => {
    const { clock, budget, wait } = open();
    const [first, second] = [wait<string>(), wait<string>()];
    const both = [budget.of(first.promise), budget.of(second.promise)];
    clock.advance(2_000);
    first.resolve("in time");
    clock.advance(1_500);
    assert.equal(await stateOf(both[1] as Promise<string>), "open");
    clock.advance(LATEST_MS - 3_500);
    assert.deepEqual(await Promise.all(both.map(stateOf)), ["in time", "too long"]);
  });

  test("undoes the result of a wait if the result arrives after the budget ended the wait", async () => {
    const { clock, budget, wait } = open();
    const { promise, resolve } = wait<string>();
    const undone: string[] = [];
    const late = budget.of(promise, (result) => void undone.push(result));
    clock.advance(LATEST_MS);
    assert.equal(await stateOf(late), "too long");
    resolve("hold");
    await waitOneTurn();
    assert.deepEqual(undone, ["hold"]);
  });

  test("waits for cleanups until the budget is used up, and then returns without an error", async () => {
    const { clock, budget, wait } = open();
    const { promise } = wait<void>();
    const cleaning = budget.cleanup(promise);
    assert.equal(await stateOf(cleaning), "open");
    clock.advance(LATEST_MS);
    assert.equal(await stateOf(cleaning), undefined);
    assert.equal(await stateOf(budget.cleanup(promise)), undefined);
  });

  test("no longer limits waits after the budget itself has ended", async () => {
    const { clock, budget, wait } = open();
    budget.end();
    const { promise, resolve } = wait<string>();
    const waiting = budget.of(promise);
    clock.advance(60_000);
    resolve("done");
    assert.equal(await stateOf(waiting), "done");
  });
});
