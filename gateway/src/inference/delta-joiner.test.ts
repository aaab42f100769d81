import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { manualClock, waitOneTurn } from "../base/testing.ts";
import { DeltaJoiner } from "./delta-joiner.ts";

function open(perSecondMax = 1_000) {
  const clock = manualClock();
  const events: string[] = [];
  const joiner = new DeltaJoiner({
    writer: { delta: (text) => text, thought: (text) => `(${text})` },
    reply: { event: (data) => void events.push(data) },
    clock,
    perSecondMax,
  });
  return { clock, events, joiner };
}

test("the delta joiner merges the deltas of one event-loop turn into one event, sent at the end of that turn", async () => {
  const { events, joiner } = open();
  joiner.delta("one");
  await waitOneTurn();
  assert.deepEqual(events, ["one"], "no time has passed");
  for (const char of " two three") joiner.delta(char);
  await waitOneTurn();
  assert.deepEqual(events, ["one", " two three"]);
});

test("the delta joiner sends thinking and answer of one turn as two events, in order", async () => {
  const { events, joiner } = open();
  joiner.thought?.("so");
  joiner.thought?.(" it is");
  joiner.delta("yes");
  await waitOneTurn();
  assert.deepEqual(events, ["(so it is)", "yes"]);
});

test("the delta joiner sends one merged event every 5 ms once events exceed the model's tokens per second", async () => {
  const { clock, events, joiner } = open(3);
  for (const char of "abcdefg") {
    joiner.delta(char);
    await waitOneTurn();
  }
  assert.deepEqual(events, ["a", "b", "c"]);
  clock.advance(5);
  assert.deepEqual(events, ["a", "b", "c", "defg"]);
  clock.advance(1_000);
  joiner.delta("h");
  await waitOneTurn();
  assert.equal(events.at(-1), "h");
});

test("the delta joiner never loses, repeats or reorders text", async () => {
  const step = fc.oneof(fc.constant("turn"), fc.constant("time"), fc.constant("flush"), fc.string({ minLength: 1 }));
  await fc.assert(
    fc.asyncProperty(fc.array(step), async (steps) => {
      const { clock, events, joiner } = open(2);
      let said = "";
      for (const what of steps) {
        if (what === "turn") await waitOneTurn();
        else if (what === "time") clock.advance(3);
        else if (what === "flush") joiner.flush();
        else {
          joiner.delta(what);
          said += what;
        }
      }
      joiner.flush();
      assert.equal(events.join(""), said);
      assert.ok(!events.includes(""));
    }),
  );
});
