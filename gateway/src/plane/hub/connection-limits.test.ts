import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConnectionLimits, findNetwork } from "./connection-limits.ts";

const limits = (): ConnectionLimits<string> =>
  new ConnectionLimits({
    connectionsMax: 6,
    connectionsPerAddressMax: 4,
    unauthenticatedMax: 4,
    unauthenticatedPerAddressMax: 2,
  });

describe("connection limits", () => {
  test("limit connections in total and per address, and free a slot when its connection ends", () => {
    const connections = limits();
    for (const name of ["a1", "a2", "a3", "a4"]) {
      assert.ok(connections.hasRoom("1.1.1.1"));
      connections.add(name, "1.1.1.1");
    }
    assert.equal(connections.hasRoom("1.1.1.1"), false);
    connections.add("b1", "2.2.2.2");
    connections.add("b2", "2.2.2.2");
    assert.equal(connections.hasRoom("3.3.3.3"), false);
    connections.remove("a2");
    connections.remove("a2");
    assert.ok(connections.hasRoom("1.1.1.1"));
    assert.deepEqual(connections.all(), ["a1", "a3", "a4", "b1", "b2"]);
  });

  test("close the oldest unauthenticated connection of the same address first, or else the oldest of any address", () => {
    const connections = limits();
    assert.equal(connections.toEvict("1.1.1.1"), undefined);
    connections.add("b1", "2.2.2.2");
    connections.add("a1", "1.1.1.1");
    connections.add("a2", "1.1.1.1");
    assert.equal(connections.toEvict("1.1.1.1"), "a1");
    assert.equal(connections.toEvict("3.3.3.3"), undefined);
    connections.add("c1", "3.3.3.3");
    assert.equal(connections.toEvict("4.4.4.4"), "b1");
    assert.equal(connections.toEvict("1.1.1.1"), "a1");
    connections.noLongerWaits("a1");
    assert.equal(connections.toEvict("1.1.1.1"), undefined);
    connections.remove("b1");
    assert.equal(connections.toEvict("4.4.4.4"), undefined);
  });

  test("treat an IPv6 /64 network as one address", () => {
    assert.equal(findNetwork("10.0.0.1"), "10.0.0.1");
    assert.equal(findNetwork("::ffff:10.0.0.1"), "10.0.0.1");
    assert.equal(findNetwork("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2");
    assert.equal(findNetwork("2001:db8:1:2::6"), "2001:db8:1:2");
    assert.equal(findNetwork("2001:db8::6"), "2001:db8:0:0");
    assert.equal(findNetwork("fe80::1%eth0"), "fe80:0:0:0");
    assert.equal(findNetwork("::1"), "0:0:0:0");
    assert.equal(findNetwork(undefined), "");
  });
});
