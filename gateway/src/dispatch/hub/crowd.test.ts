import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Crowd, placeOf } from "./crowd.ts";

const crowd = (): Crowd<string> =>
  new Crowd({ connectionsMax: 6, connectionsPerAddressMax: 4, unauthenticatedMax: 4, unauthenticatedPerAddressMax: 2 });

describe("crowd", () => {
  test("is bounded in all and by address, and whoever leaves makes room", () => {
    const some = crowd();
    for (const name of ["a1", "a2", "a3", "a4"]) {
      assert.ok(some.hasRoom("1.1.1.1"));
      some.enter(name, "1.1.1.1");
    }
    assert.equal(some.hasRoom("1.1.1.1"), false);
    some.enter("b1", "2.2.2.2");
    some.enter("b2", "2.2.2.2");
    assert.equal(some.hasRoom("3.3.3.3"), false);
    some.leave("a2");
    some.leave("a2");
    assert.ok(some.hasRoom("1.1.1.1"));
    assert.deepEqual(some.everybody(), ["a1", "a3", "a4", "b1", "b2"]);
  });

  test("the oldest stranger of the same address goes first, then the oldest of all", () => {
    const some = crowd();
    assert.equal(some.whoMakesRoom("1.1.1.1"), undefined);
    some.enter("b1", "2.2.2.2");
    some.enter("a1", "1.1.1.1");
    some.enter("a2", "1.1.1.1");
    assert.equal(some.whoMakesRoom("1.1.1.1"), "a1");
    assert.equal(some.whoMakesRoom("3.3.3.3"), undefined);
    some.enter("c1", "3.3.3.3");
    assert.equal(some.whoMakesRoom("4.4.4.4"), "b1");
    assert.equal(some.whoMakesRoom("1.1.1.1"), "a1");
    some.noStranger("a1");
    assert.equal(some.whoMakesRoom("1.1.1.1"), undefined);
    some.leave("b1");
    assert.equal(some.whoMakesRoom("4.4.4.4"), undefined);
  });

  test("an address of the new kind stands for the half that its owner was given", () => {
    assert.equal(placeOf("10.0.0.1"), "10.0.0.1");
    assert.equal(placeOf("::ffff:10.0.0.1"), "10.0.0.1");
    assert.equal(placeOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2");
    assert.equal(placeOf("2001:db8:1:2::6"), "2001:db8:1:2");
    assert.equal(placeOf("2001:db8::6"), "2001:db8:0:0");
    assert.equal(placeOf("fe80::1%eth0"), "fe80:0:0:0");
    assert.equal(placeOf("::1"), "0:0:0:0");
    assert.equal(placeOf(undefined), "");
  });
});
