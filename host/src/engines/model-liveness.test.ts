import assert from "node:assert/strict";
import { test } from "node:test";
import { waitOneTurn } from "../clock.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { ModelLiveness } from "./model-liveness.ts";

function harness() {
  const clock = new ManualClock();
  const state = { works: false, tries: 0, changes: 0 };
  const doubts = new ModelLiveness({
    works: async () => {
      state.tries++;
      return state.works;
    },
    changed: () => {
      state.changes++;
    },
    clock,
  });
  return { clock, state, doubts };
}

test("counts a model that fails a test job as dead, tests it less and less often, and restores it after a successful test", async () => {
  const { clock, state, doubts } = harness();
  doubts.doubt("a");
  assert.equal(doubts.isDead("a"), false, "one failed job kills nothing");
  await waitOneTurn(clock);
  assert.deepEqual([doubts.isDead("a"), state.changes], [true, 1]);
  const waits: number[] = [];
  for (let i = 0; i < 7; i++) {
    doubts.doubt("a");
    waits.push(clock.nextInMs ?? 0);
    clock.advance(waits.at(-1) ?? 0);
    await waitOneTurn(clock);
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  assert.deepEqual([state.tries, state.changes], [8, 1], "told once");
  state.works = true;
  clock.advance(30_000);
  await waitOneTurn(clock);
  assert.deepEqual([doubts.isDead("a"), state.changes, clock.nextInMs], [false, 2, undefined]);
});

test("ignores a failed job if the model passes its test", async () => {
  const { clock, state, doubts } = harness();
  state.works = true;
  doubts.doubt("a");
  await waitOneTurn(clock);
  assert.deepEqual([doubts.isDead("a"), state.changes, clock.nextInMs], [false, 0, undefined]);
});

test("tests a dead model as soon as its engine returns, and never after the model was removed", async () => {
  const { clock, state, doubts } = harness();
  doubts.doubt("a");
  await waitOneTurn(clock);
  doubts.tryNow();
  await waitOneTurn(clock);
  assert.deepEqual([state.tries, clock.nextInMs], [2, 2000]);
  doubts.clear();
  assert.deepEqual([doubts.isDead("a"), clock.nextInMs], [false, undefined]);
});
