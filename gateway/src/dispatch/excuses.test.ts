import assert from "node:assert/strict";
import { test } from "node:test";
import { Excuses, type Hit } from "./excuses.ts";

const hit = (nodeId: string, more: Partial<Hit> = {}): Hit => ({
  nodeId,
  owners: [`owner of ${nodeId}`],
  established: true,
  server: "s1",
  at: 0,
  ...more,
});
const believes = (others: Hit[], node = hit("a")): boolean => {
  const excuses = new Excuses();
  for (const each of [node, ...others]) excuses.note(each, 0);
  return excuses.believes(node);
};

test("a node is believed when nodes of two other established hosts lost the same server at the same time", () => {
  assert.equal(believes([hit("b"), hit("c", { at: 4_999 })]), true);
});

test("a node that is hit alone, or with one other, is never believed", () => {
  assert.equal(believes([]), false);
  assert.equal(believes([hit("b")]), false);
  assert.equal(believes([hit("b"), hit("b", { at: 1 })]), false, "one node twice is one witness");
});

test("who was on another server, at another time, or is new is no witness", () => {
  assert.equal(believes([hit("b"), hit("c", { server: "s2" })]), false);
  assert.equal(believes([hit("b"), hit("c", { at: 5_000 })]), false);
  assert.equal(believes([hit("b"), hit("c", { established: false })]), false);
});

test("nodes of one owner are no witnesses for each other, and count once", () => {
  const owners = ["one person"];
  assert.equal(believes([hit("b", { owners }), hit("c", { owners })]), false);
  assert.equal(believes([hit("b"), hit("c")], hit("a", { owners: ["owner of b"] })), false);
});
