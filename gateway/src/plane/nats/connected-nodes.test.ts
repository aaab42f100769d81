import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConnectedNodes, OpenConnections } from "./connected-nodes.ts";

describe("the record of connected nodes", () => {
  test("reports a node as disconnected once, when its last connection ends", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("n", "a", 0);
    nodes.connected("n", "b", 0);
    assert.equal(nodes.disconnected("n", "a", 0), "there");
    assert.equal(nodes.disconnected("n", "b", 0), "gone");
    assert.equal(nodes.disconnected("n", "b", 0), "there");
  });

  test("assumes that a node that connected before the gateway started may have another connection", () => {
    const nodes = new ConnectedNodes();
    nodes.heard("n");
    assert.equal(nodes.disconnected("n", "before", 0), "unsure");
    assert.equal(nodes.has("n"), false);
    assert.equal(nodes.disconnected("n", "before", 0), "there");
    nodes.heard("n");
    assert.equal(nodes.has("n"), true);
  });

  test("keeps a node connected while it renews its credentials, even if its first connection was not reported", () => {
    const nodes = new ConnectedNodes();
    nodes.heard("n");
    nodes.connected("n", "new", 0);
    nodes.heard("n");
    assert.equal(nodes.disconnected("n", "before", 0), "there");
    assert.equal(nodes.disconnected("n", "new", 0), "gone");
  });

  test("drops a connection without a reported end as soon as the node has connected two more times", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("n", "on a server that died", 0);
    nodes.connected("n", "b", 0);
    nodes.connected("n", "c", 0);
    assert.equal(nodes.disconnected("n", "b", 0), "there");
    assert.equal(nodes.disconnected("n", "c", 0), "gone");
  });

  test("reports a node as disconnected when its newest connection ends, if the server of its former connection died", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("n", "on a server that died", 0);
    nodes.connected("n", "b", 1_000);
    assert.equal(nodes.disconnected("n", "b", 2_000), "there", "it may have renewed, and stayed on the first");
    nodes.connected("n", "c", 3_000);
    assert.equal(nodes.disconnected("n", "c", 20_000), "gone");
  });

  test("keeps a node's move to another server until the end of the former connection is reported", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("n", "a", 0);
    assert.equal(nodes.movedAt("n"), undefined);
    nodes.connected("n", "b", 1_000);
    assert.equal(nodes.movedAt("n"), 1_000);
    nodes.disconnected("n", "a", 1_500);
    assert.equal(nodes.movedAt("n"), undefined, "it renewed");
    nodes.connected("n", "c", 2_000);
    assert.equal(nodes.movedAt("n"), 2_000);
    assert.equal(nodes.movedAt("another"), undefined);
  });

  test("drops all nodes when the plane is unreachable", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("one", "a", 0);
    nodes.heard("two");
    nodes.clear();
    assert.equal(nodes.disconnected("one", "a", 0), "there");
    assert.equal(nodes.disconnected("two", "b", 0), "there");
  });
});

test("a node may have four open connections; those that ended or whose server died do not count", () => {
  const open = new OpenConnections();
  const dead = new Set<string>();
  const began = (connection: string): boolean => open.began("n", connection, (server) => !dead.has(server ?? ""));
  const four = ["s1 1", "s1 2", "s2 1", "s2 2"];
  assert.deepEqual(four.map(began), [false, false, false, false]);
  open.ended("n", "s1 1");
  assert.equal(began("s1 3"), false);
  dead.add("s2");
  assert.deepEqual(["s1 4", "s1 5"].map(began), [false, false]);
  assert.equal(began("s1 6"), true);
  assert.deepEqual(
    four.map(began),
    [false, false, false, false],
    "the count begins anew once the node is disconnected",
  );
});
