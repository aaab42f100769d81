import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AttemptEvent, type AttemptState, advance, decideRetry, isOver } from "./attempt.ts";

const EVENTS: AttemptEvent[] = [
  "accept",
  "busy",
  "progress",
  "output",
  "done",
  "fail",
  "quiet",
  "lost",
  "broken",
  "cancel",
];
const none = undefined;

describe("one attempt", () => {
  const table: Record<string, (AttemptState | undefined)[]> = {
    offered: ["accepted", "declined", none, none, none, none, "declined", "declined", "declined", "cancelled"],
    accepted: [none, none, "accepted", "producing", "finished", "failed", "quiet", "lost", "failed", "cancelled"],
    producing: [none, none, "producing", "producing", "finished", "failed", "quiet", "lost", "failed", "cancelled"],
    finished: EVENTS.map(() => none),
    failed: EVENTS.map(() => none),
    quiet: EVENTS.map(() => none),
    lost: EVENTS.map(() => none),
    declined: EVENTS.map(() => none),
    cancelled: EVENTS.map(() => none),
  };
  for (const [state, row] of Object.entries(table)) {
    test(`${state}: every event`, () => {
      assert.deepEqual(
        EVENTS.map((event) => advance(state as AttemptState, event)),
        row,
      );
    });
  }

  test("every open state can break, so an event that is not allowed always ends the attempt", () => {
    for (const state of Object.keys(table) as AttemptState[]) {
      assert.equal(isOver(state), advance(state, "broken") === undefined);
    }
  });
});

test("one retry, only after silence, only while nothing reached the client", () => {
  const fresh = { reachedClient: false, retriesLeft: 1 };
  assert.equal(decideRetry("quiet", fresh), "retry");
  assert.equal(decideRetry("lost", fresh), "retry");
  assert.equal(decideRetry("failed", fresh), "end");
  assert.equal(decideRetry("cancelled", fresh), "end");
  assert.equal(decideRetry("quiet", { ...fresh, reachedClient: true }), "end");
  assert.equal(decideRetry("quiet", { ...fresh, retriesLeft: 0 }), "end");
});
