import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type AttemptEvent,
  type AttemptState,
  decideRetry,
  findNextState,
  hasEnded,
  judgeSecondOpinion,
} from "./attempt-state-machine.ts";

const EVENTS: AttemptEvent[] = [
  "accept",
  "busy",
  "progress",
  "output",
  "done",
  "empty",
  "fail",
  "quiet",
  "expire",
  "lost",
  "cut",
  "broken",
  "cancel",
];
const ENDS: AttemptState[] = ["finished", "empty", "failed", "quiet", "expired", "lost", "cut", "broken", "cancelled"];
const none = undefined;

describe("the state machine of an attempt", () => {
  const running = (state: AttemptState): (AttemptState | undefined)[] =>
    // The states after each event, in the order of EVENTS. A second acceptance and a late decline change nothing.
    [none, none, state, "producing", ...ENDS];
  const no = "declined";
  const table: Record<string, (AttemptState | undefined)[]> = {
    offered: ["accepted", no, none, none, none, none, none, no, none, no, "cut", no, "cancelled"],
    accepted: running("accepted"),
    producing: running("producing"),
    finished: EVENTS.map(() => none),
    empty: EVENTS.map(() => none),
    failed: EVENTS.map(() => none),
    broken: EVENTS.map(() => none),
    expired: EVENTS.map(() => none),
    quiet: EVENTS.map(() => none),
    lost: EVENTS.map(() => none),
    cut: EVENTS.map(() => none),
    declined: EVENTS.map(() => none),
    cancelled: EVENTS.map(() => none),
  };
  for (const [state, row] of Object.entries(table)) {
    test(`follows the transition table for every event in state ${state}`, () => {
      assert.deepEqual(
        EVENTS.map((event) => findNextState(state as AttemptState, event)),
        row,
      );
    });
  }

  test("ends a running attempt as broken on an event that the protocol does not allow", () => {
    for (const state of Object.keys(table) as AttemptState[]) {
      assert.equal(hasEnded(state), findNextState(state, "broken") === undefined);
    }
  });
});

test("a request is retried once, after a stall or an empty answer, and only before output reaches the client", () => {
  const fresh = { reachedClient: false, retriesLeft: 1 };
  assert.equal(decideRetry("quiet", fresh), "retry");
  assert.equal(decideRetry("lost", fresh), "retry");
  assert.equal(decideRetry("empty", fresh), "retry");
  assert.equal(decideRetry("failed", fresh), "end");
  assert.equal(decideRetry("broken", fresh), "end");
  assert.equal(decideRetry("expired", fresh), "end");
  assert.equal(decideRetry("cancelled", fresh), "end");
  assert.equal(decideRetry("quiet", { ...fresh, reachedClient: true }), "end");
  assert.equal(decideRetry("quiet", { ...fresh, retriesLeft: 0 }), "end");
});

test("a request that the dispatch plane lost is retried any number of times, until output reaches the client", () => {
  assert.equal(decideRetry("cut", { reachedClient: false, retriesLeft: 1 }), "again");
  assert.equal(decideRetry("cut", { reachedClient: false, retriesLeft: 0 }), "again");
  assert.equal(decideRetry("cut", { reachedClient: true, retriesLeft: 1 }), "end");
});

test("an empty answer is confirmed or refuted by a second opinion from another node", () => {
  const came = { enough: false, blank: false, hadOutput: true };
  const none = { enough: false, blank: false, hadOutput: false };
  assert.equal(judgeSecondOpinion({ state: "finished", ...came }), "refuted");
  assert.equal(judgeSecondOpinion({ state: "cancelled", ...came, enough: true }), "refuted", "cut at the cap");
  assert.equal(judgeSecondOpinion({ state: "empty", ...none, blank: true }), "shared");
  // Here the gateway found a stop string at the start of the second node's output. The first node's empty answer is not
  // refuted, because its engine may have found the same string.
  assert.equal(judgeSecondOpinion({ state: "cancelled", enough: true, blank: true, hadOutput: true }), "own ending");
  assert.equal(judgeSecondOpinion({ state: "cancelled", ...none }), "own ending", "the client left");
  for (const state of ["failed", "broken", "quiet", "lost", "expired"] as const) {
    assert.equal(judgeSecondOpinion({ state, ...none }), "none");
    assert.equal(judgeSecondOpinion({ state, ...came }), "own ending");
  }
});
