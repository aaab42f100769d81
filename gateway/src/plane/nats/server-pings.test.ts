import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerPings } from "./server-pings.ts";

const ask = (pulse: ServerPings, times: number, ...answering: string[]): void => {
  for (let i = 0; i < times; i++) {
    const ping = pulse.asked();
    for (const server of answering) pulse.answered(server, ping);
  }
};

test("ServerPings reports a server as hanging after three unanswered pings, and no other server", () => {
  const pulse = new ServerPings();
  ask(pulse, 2, "a", "b");
  ask(pulse, 2, "a");
  assert.ok(pulse.answers("b"));
  ask(pulse, 1, "a");
  assert.deepEqual([pulse.answers("a"), pulse.answers("b")], [true, false]);
  pulse.answered("b", 5);
  assert.ok(pulse.answers("b"));
});

test("ServerPings requires answers from all servers if it is unknown which server a node uses", () => {
  const pulse = new ServerPings();
  ask(pulse, 1, "a", "b");
  assert.ok(pulse.answers(undefined));
  ask(pulse, 3, "a");
  assert.equal(pulse.answers(undefined), false);
});

test("ServerPings forgets a server after 40 unanswered pings, and does not report a server that has never answered", () => {
  const pulse = new ServerPings();
  ask(pulse, 1, "a", "b");
  ask(pulse, 40, "a");
  assert.equal(pulse.answers("b"), false);
  ask(pulse, 1, "a");
  assert.ok(pulse.answers("b"));
  ask(pulse, 5, "a");
  assert.ok(pulse.answers("never"));
  assert.ok(pulse.answers(undefined));
});

test("ServerPings does not accept an answer to an earlier ping as proof that a server responds now", () => {
  const pulse = new ServerPings();
  const earlier = pulse.asked();
  const ping = pulse.newPing();
  pulse.answered("a", earlier);
  assert.equal(pulse.answeredSince("a", ping), false);
  pulse.answered("a", ping);
  assert.equal(pulse.answeredSince("a", ping), true);
});
