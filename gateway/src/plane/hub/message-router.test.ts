import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { InvariantError } from "../../base/invariant.ts";
import { createMessageRouter } from "./message-router.ts";

const payload = new Uint8Array();

describe("the router of messages to subscribers", () => {
  test("delivers to matching plain and wildcard subscribers only", () => {
    const router = createMessageRouter();
    const heard: string[] = [];
    for (const pattern of ["a.b", "a.b", "a.*", ">", "a.c", "b.>", "*", "*.b", "*.*", "a.*.*"])
      router.add(pattern, () => heard.push(pattern));
    router.route("a.b", payload);
    assert.deepEqual(heard, ["a.b", "a.b", "a.*", ">", "*.b", "*.*"]);
    heard.length = 0;
    router.route("a", payload);
    assert.deepEqual(heard, [">", "*"]);
  });

  test("removes a subscription when it is unsubscribed, and ignores a second call", () => {
    const router = createMessageRouter();
    let heard = 0;
    const leave = router.add("a", () => heard++);
    leave();
    router.add("a", () => heard++);
    leave();
    router.route("a", payload);
    assert.equal(heard, 1);
  });

  test("lets a subscriber unsubscribe, remove others and subscribe again while it receives a message", () => {
    const router = createMessageRouter();
    const heard: string[] = [];
    const again = (): void => {
      heard.push("again");
      router.add("a", again);
    };
    const leaveFirst = router.add("a", () => {
      heard.push("first");
      leaveFirst();
      leaveSecond();
    });
    const leaveSecond = router.add("a", () => heard.push("second"));
    router.route("a", payload);
    assert.deepEqual(heard, ["first"]);
    router.add("a", again);
    router.route("a", payload);
    assert.deepEqual(heard, ["first", "again"]);
  });

  test("throws on a malformed pattern", () => {
    assert.throws(() => createMessageRouter().add("a..b", () => {}), InvariantError);
  });
});
