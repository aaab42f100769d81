import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Presence } from "./presence.ts";

describe("presence", () => {
  test("a node is gone with its last connection, once", () => {
    const presence = new Presence();
    presence.connected("n", "a");
    presence.connected("n", "b");
    assert.equal(presence.disconnected("n", "a"), false);
    assert.equal(presence.disconnected("n", "b"), true);
    assert.equal(presence.disconnected("n", "b"), false);
  });

  test("a node that connected before anybody listened is gone with the connection it loses", () => {
    const presence = new Presence();
    presence.heard("n");
    assert.equal(presence.disconnected("n", "before"), true);
    assert.equal(presence.disconnected("n", "before"), false);
  });

  test("a node that renews is there throughout, also if its first connection was not seen", () => {
    const presence = new Presence();
    presence.heard("n");
    presence.connected("n", "new");
    presence.heard("n");
    assert.equal(presence.disconnected("n", "before"), false);
    assert.equal(presence.disconnected("n", "new"), true);
  });

  test("a connection whose end nobody told is forgotten with the second one after it", () => {
    const presence = new Presence();
    presence.connected("n", "on a server that died");
    presence.connected("n", "b");
    presence.connected("n", "c");
    assert.equal(presence.disconnected("n", "b"), false);
    assert.equal(presence.disconnected("n", "c"), true);
  });

  test("when the plane is away, everybody is", () => {
    const presence = new Presence();
    presence.connected("one", "a");
    presence.heard("two");
    assert.deepEqual(presence.clear(), ["one", "two"]);
    assert.deepEqual(presence.clear(), []);
  });
});
