import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConnectedNodes } from "./connected-nodes.ts";

describe("connected nodes", () => {
  test("a node is gone with its last connection, once", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("n", "a", 0);
    nodes.connected("n", "b", 0);
    assert.equal(nodes.disconnected("n", "a", 0), "there");
    assert.equal(nodes.disconnected("n", "b", 0), "gone");
    assert.equal(nodes.disconnected("n", "b", 0), "there");
  });

  test("a node that connected before anybody listened may have another than the one it loses", () => {
    const nodes = new ConnectedNodes();
    nodes.heard("n");
    assert.equal(nodes.disconnected("n", "before", 0), "unsure");
    assert.equal(nodes.has("n"), false);
    assert.equal(nodes.disconnected("n", "before", 0), "there");
    nodes.heard("n");
    assert.equal(nodes.has("n"), true);
  });

  test("a node that renews is there throughout, also if its first connection was not seen", () => {
    const nodes = new ConnectedNodes();
    nodes.heard("n");
    nodes.connected("n", "new", 0);
    nodes.heard("n");
    assert.equal(nodes.disconnected("n", "before", 0), "there");
    assert.equal(nodes.disconnected("n", "new", 0), "gone");
  });

  test("a connection whose end nobody told is forgotten with the second one after it", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("n", "on a server that died", 0);
    nodes.connected("n", "b", 0);
    nodes.connected("n", "c", 0);
    assert.equal(nodes.disconnected("n", "b", 0), "there");
    assert.equal(nodes.disconnected("n", "c", 0), "gone");
  });

  test("one that moved from a server that died is gone with its new connection", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("n", "on a server that died", 0);
    nodes.connected("n", "b", 1_000);
    assert.equal(nodes.disconnected("n", "b", 2_000), "there", "it may have renewed, and stayed on the first");
    nodes.connected("n", "c", 3_000);
    assert.equal(nodes.disconnected("n", "c", 20_000), "gone");
  });

  test("a move is known until the end of the connection before is heard", () => {
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

  test("when the plane is away, nobody is known", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("one", "a", 0);
    nodes.heard("two");
    nodes.clear();
    assert.equal(nodes.disconnected("one", "a", 0), "there");
    assert.equal(nodes.disconnected("two", "b", 0), "there");
  });
});
