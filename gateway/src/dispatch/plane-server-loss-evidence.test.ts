import assert from "node:assert/strict";
import { test } from "node:test";
import { type PlaneServerLoss, PlaneServerLossEvidence } from "./plane-server-loss-evidence.ts";

const hit = (nodeId: string, more: Partial<PlaneServerLoss> = {}): PlaneServerLoss => ({
  nodeId,
  owners: [`owner of ${nodeId}`],
  established: true,
  server: "s1",
  at: 0,
  ...more,
});
const believes = (others: PlaneServerLoss[], node = hit("a")): boolean => {
  const excuses = new PlaneServerLossEvidence();
  for (const each of [node, ...others]) excuses.note(each, 0);
  return excuses.believes(node);
};

test("a node's lost connection is excused if two other established hosts' nodes lost the same server at the same time", () => {
  assert.equal(believes([hit("b"), hit("c", { at: 4_999 })]), true);
});

test("a node's lost connection is not excused if at most one other node lost the same server", () => {
  assert.equal(believes([]), false);
  assert.equal(believes([hit("b")]), false);
  assert.equal(believes([hit("b"), hit("b", { at: 1 })]), false, "one node twice is one witness");
});

test("other nodes do not count as witnesses if they are new, were on another server, or lost it at another time", () => {
  assert.equal(believes([hit("b"), hit("c", { server: "s2" })]), false);
  assert.equal(believes([hit("b"), hit("c", { at: 5_000 })]), false);
  assert.equal(believes([hit("b"), hit("c", { established: false })]), false);
});

test("nodes of one owner count as one witness together, and never as witnesses for each other", () => {
  const owners = ["one person"];
  assert.equal(believes([hit("b", { owners }), hit("c", { owners })]), false);
  assert.equal(believes([hit("b"), hit("c")], hit("a", { owners: ["owner of b"] })), false);
});
