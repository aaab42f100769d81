import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerPulse } from "./server-pulse.ts";

const ask = (pulse: ServerPulse, times: number, ...answering: string[]): void => {
  for (let i = 0; i < times; i++) {
    const ping = pulse.asked();
    for (const server of answering) pulse.answered(server, ping);
  }
};

test("reports a server as hanging after three missed replies, and not other servers", () => {
  const pulse = new ServerPulse();
  ask(pulse, 2, "a", "b");
  ask(pulse, 2, "a");
  assert.ok(pulse.answers("b"));
  ask(pulse, 1, "a");
  assert.deepEqual([pulse.answers("a"), pulse.answers("b")], [true, false]);
  pulse.answered("b", 5);
  assert.ok(pulse.answers("b"));
});

test("requires replies from all servers if a node's server is unknown", () => {
  const pulse = new ServerPulse();
  ask(pulse, 1, "a", "b");
  assert.ok(pulse.answers(undefined));
  ask(pulse, 3, "a");
  assert.equal(pulse.answers(undefined), false);
});

test("forgets a server that left permanently, and never reports one that has not replied yet", () => {
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

test("does not accept an answer to an earlier ping as proof that a server is well now", () => {
  const pulse = new ServerPulse();
  const earlier = pulse.asked();
  const ping = pulse.newPing();
  pulse.answered("a", earlier);
  assert.equal(pulse.answeredSince("a", ping), false);
  pulse.answered("a", ping);
  assert.equal(pulse.answeredSince("a", ping), true);
});
