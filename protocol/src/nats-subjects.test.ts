import assert from "node:assert/strict";
import { test } from "node:test";
import {
  gatewayInboxSubject,
  gatewaySubject,
  nodePermissions,
  nodeStateSubject,
  nodeSubject,
  parseSendingNode,
} from "./nats-subjects.ts";

test("parses the sending node from subjects on which nodes publish, and returns undefined for other subjects", () => {
  assert.equal(parseSendingNode(gatewaySubject("gw1", "node_a")), "node_a");
  assert.equal(parseSendingNode(nodeStateSubject("node_a")), "node_a");
  for (const foreign of ["tg.n.node_a", "tg.g.gw1", "tg.g.gw1.node_a.x", "other.s.node_a", ""]) {
    assert.equal(parseSendingNode(foreign), undefined, foreign);
  }
});

test("lets a node publish to any gateway, and subscribe only to its own subjects", () => {
  assert.deepEqual(nodePermissions("node_a"), {
    publish: ["tg.g.*.node_a", "tg.s.node_a"],
    subscribe: ["tg.n.node_a", "tg.q"],
  });
  assert.equal(nodeSubject("node_a"), "tg.n.node_a");
  assert.equal(gatewayInboxSubject("gw1"), "tg.g.gw1.*");
});
