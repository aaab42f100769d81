import assert from "node:assert/strict";
import { test } from "node:test";
import { UnderWay } from "./under-way.ts";

test("cancels a request when its client disconnects or the gateway stops, and keeps the first reason", () => {
  const underWay = new UnderWay();
  const [left, stayed] = [new AbortController(), new AbortController()];
  const [one, other] = [underWay.enter(left.signal), underWay.enter(stayed.signal)];
  left.abort();
  assert.deepEqual([one.signal.aborted, other.signal.aborted], [true, false]);
  underWay.stop();
  assert.deepEqual([one.isStopped, other.isStopped, other.signal.aborted], [false, true, true]);
  stayed.abort();
  assert.ok(other.isStopped);
  const late = underWay.enter(new AbortController().signal);
  assert.ok(late.isStopped && late.signal.aborted, "who comes afterwards is stopped at once");
  assert.ok(!underWay.enter(left.signal).isStopped, "who is gone is gone");
});

test("cancels a request that cost nothing when the gateway stops, and not when its client disconnects", async () => {
  const underWay = new UnderWay();
  const gone = new AbortController();
  const stay = underWay.enter(gone.signal);
  assert.equal(await stay.unlessStopped(Promise.resolve("read")), "read");
  const never = underWay.enter(new AbortController().signal).unlessStopped(new Promise(() => {}));
  gone.abort();
  underWay.stop();
  await assert.rejects(never, { code: "no_capacity" });
  assert.equal(await stay.unlessStopped(Promise.resolve("its own end")), "its own end");
});

test("waits for the last request in flight when the gateway stops", async () => {
  const underWay = new UnderWay();
  await underWay.none();
  const stays = [1, 2].map(() => underWay.enter(new AbortController().signal));
  let isNone = false;
  const none = underWay.none().then(() => {
    isNone = true;
  });
  stays[0]?.leave();
  await Promise.resolve();
  assert.deepEqual([underWay.count, isNone], [1, false]);
  stays[1]?.leave();
  await none;
});
