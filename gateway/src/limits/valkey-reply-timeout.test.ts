import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock, waitOneTurn } from "../base/testing.ts";
import { startReplyTimeout } from "./valkey-reply-timeout.ts";

const timeoutMs = 200;

function start(isUnsent = (): boolean => false) {
  const clock = manualClock();
  let passed = 0;
  const stop = startReplyTimeout({
    clock,
    timeoutMs,
    isUnsent,
    passed: () => {
      passed += 1;
    },
  });
  return { clock, stop, passed: () => passed };
}

test("the reply timeout calls back once, at its end", async () => {
  const { clock, passed } = start();
  clock.advance(timeoutMs - 1);
  await waitOneTurn();
  assert.equal(passed(), 0);
  clock.advance(1);
  await waitOneTurn();
  clock.advance(10 * timeoutMs);
  await waitOneTurn();
  assert.equal(passed(), 1);
});

test("the reply timeout restarts once if part of the command is still in this process's send buffer", async () => {
  const { clock, passed } = start(() => true);
  clock.advance(timeoutMs);
  await waitOneTurn();
  clock.advance(timeoutMs - 1);
  await waitOneTurn();
  assert.equal(passed(), 0);
  clock.advance(1);
  await waitOneTurn();
  assert.equal(passed(), 1);
});

test("the reply timeout is extended once by the delay of a late timer", async () => {
  const { clock, passed } = start();
  clock.freeze(timeoutMs + 150);
  await waitOneTurn();
  clock.advance(149);
  await waitOneTurn();
  assert.equal(passed(), 0);
  clock.advance(1);
  await waitOneTurn();
  assert.equal(passed(), 1);
});

test("the reply timeout does not expire after the reply was read", async () => {
  const { clock, stop, passed } = start();
  clock.advance(timeoutMs);
  // The timer has fired. Later in the same turn of the event loop, the answer is read, and its reader cancels the
  // timeout.
  stop();
  await waitOneTurn();
  assert.equal(passed(), 0);
});
