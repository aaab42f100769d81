import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConnectedNodes } from "./connected-nodes.ts";

describe("connected nodes", () => {
  test("a node is gone with its last connection, once", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("n", "a");
    nodes.connected("n", "b");
    assert.equal(nodes.disconnected("n", "a"), false);
    assert.equal(nodes.disconnected("n", "b"), true);
    assert.equal(nodes.disconnected("n", "b"), false);
  });

  test("a node that connected before anybody listened is gone with the connection it loses", () => {
    const nodes = new ConnectedNodes();
    nodes.heard("n");
    assert.equal(nodes.disconnected("n", "before"), true);
    assert.equal(nodes.disconnected("n", "before"), false);
  });

  test("a node that renews is there throughout, also if its first connection was not seen", () => {
    const nodes = new ConnectedNodes();
    nodes.heard("n");
    nodes.connected("n", "new");
    nodes.heard("n");
    assert.equal(nodes.disconnected("n", "before"), false);
    assert.equal(nodes.disconnected("n", "new"), true);
  });

  test("a connection whose end nobody told is forgotten with the second one after it", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("n", "on a server that died");
    nodes.connected("n", "b");
    nodes.connected("n", "c");
    assert.equal(nodes.disconnected("n", "b"), false);
    assert.equal(nodes.disconnected("n", "c"), true);
  });

  test("when the plane is away, everybody is", () => {
    const nodes = new ConnectedNodes();
    nodes.connected("one", "a");
    nodes.heard("two");
    assert.deepEqual(nodes.clear(), ["one", "two"]);
    assert.deepEqual(nodes.clear(), []);
  });
});
