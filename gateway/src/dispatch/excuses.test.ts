import assert from "node:assert/strict";
import { test } from "node:test";
import { Excuses } from "./excuses.ts";

const MINUTE = 60_000;
const node = (id: string, host = `host of ${id}`) => ({ nodeId: id, hostId: host });

test("a node that is hit alone is believed three times in ten minutes, whatever it ran each time", () => {
  const excuses = new Excuses();
  for (const at of [0, MINUTE, 2 * MINUTE]) {
    for (let job = 0; job < 5; job++) assert.equal(excuses.believes(node("a"), at, at + job), true);
  }
  assert.equal(excuses.believes(node("a"), 3 * MINUTE, 3 * MINUTE), false);
  assert.equal(excuses.believes(node("a"), 4 * MINUTE, 4 * MINUTE), false, "what was not believed is no new excuse");
  assert.equal(excuses.believes(node("b"), 4 * MINUTE + 9_000, 4 * MINUTE + 9_000), true, "another has its own");
  assert.equal(excuses.believes(node("a"), 15 * MINUTE, 15 * MINUTE), true, "ten minutes later it is believed again");
});

test("nodes of several hosts, or the gateway itself, hit at the same time were hit by the plane", () => {
  const excuses = new Excuses();
  for (let i = 0; i < 8; i++) {
    const at = i * MINUTE;
    assert.equal(excuses.believes(node("a"), at, at), true, `${i}`);
    assert.equal(excuses.believes(node("b"), at + 1_000, at + 1_000), true, `${i}`);
  }
  const gateway = new Excuses();
  for (let i = 0; i < 8; i++) {
    gateway.away(i * MINUTE);
    assert.equal(gateway.believes(node("a"), i * MINUTE + 500, i * MINUTE + 500), true, `${i}`);
  }
});

test("the nodes of one host are no witnesses for each other", () => {
  const excuses = new Excuses();
  for (const at of [0, MINUTE, 2 * MINUTE]) {
    assert.equal(excuses.believes(node("a", "h"), at, at), true);
    assert.equal(excuses.believes(node("b", "h"), at, at), true);
  }
  assert.equal(excuses.believes(node("a", "h"), 3 * MINUTE, 3 * MINUTE), false);
});
