import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerPulse } from "./server-pulse.ts";

const ask = (pulse: ServerPulse, times: number, ...answering: string[]): void => {
  for (let i = 0; i < times; i++) {
    pulse.asked();
    for (const server of answering) pulse.answered(server);
  }
};

test("a server that owes three answers hangs; the others do not", () => {
  const pulse = new ServerPulse();
  ask(pulse, 2, "a", "b");
  ask(pulse, 2, "a");
  assert.ok(pulse.answers("b"));
  ask(pulse, 1, "a");
  assert.deepEqual([pulse.answers("a"), pulse.answers("b")], [true, false]);
  pulse.answered("b");
  assert.ok(pulse.answers("b"));
});

test("of a node whose server is not known, all must answer", () => {
  const pulse = new ServerPulse();
  ask(pulse, 1, "a", "b");
  assert.ok(pulse.answers(undefined));
  ask(pulse, 3, "a");
  assert.equal(pulse.answers(undefined), false);
});

test("a server that left for good is forgotten, and one that was never heard is not known to hang", () => {
  const pulse = new ServerPulse();
  ask(pulse, 1, "a", "b");
  ask(pulse, 40, "a");
  assert.equal(pulse.answers("b"), false);
  ask(pulse, 1, "a");
  assert.ok(pulse.answers("b"));
  ask(pulse, 5, "a");
  assert.ok(pulse.answers("never"));
  assert.ok(pulse.answers(undefined));
});
