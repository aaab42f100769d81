import assert from "node:assert/strict";
import { test } from "node:test";
import { InFlightRequests } from "./in-flight.ts";

test("a request is canceled when its client disconnects or the gateway stops, and keeps the first of these reasons", () => {
  const inFlight = new InFlightRequests();
  const [left, stayed] = [new AbortController(), new AbortController()];
  const [one, other] = [inFlight.enter(left.signal), inFlight.enter(stayed.signal)];
  left.abort();
  assert.deepEqual([one.signal.aborted, other.signal.aborted], [true, false]);
  inFlight.stop();
  assert.deepEqual([one.isStopped, other.isStopped, other.signal.aborted], [false, true, true]);
  stayed.abort();
  assert.ok(other.isStopped);
  const late = inFlight.enter(new AbortController().signal);
  assert.ok(late.isStopped && late.signal.aborted, "who comes afterwards is stopped at once");
  assert.ok(!inFlight.enter(left.signal).isStopped, "who is gone is gone");
});

test("a waiting request fails with no_capacity when the gateway stops, but not when its client disconnects", async () => {
  const inFlight = new InFlightRequests();
  const gone = new AbortController();
  const entry = inFlight.enter(gone.signal);
  assert.equal(await entry.unlessStopped(Promise.resolve("read")), "read");
  const never = inFlight.enter(new AbortController().signal).unlessStopped(new Promise(() => {}));
  gone.abort();
  inFlight.stop();
  await assert.rejects(never, { code: "no_capacity" });
  assert.equal(await entry.unlessStopped(Promise.resolve("its own end")), "its own end");
});

test("a stopping gateway waits for the last request in flight", async () => {
  const inFlight = new InFlightRequests();
  await inFlight.none();
  const entries = [1, 2].map(() => inFlight.enter(new AbortController().signal));
  let isNone = false;
  const none = inFlight.none().then(() => {
    isNone = true;
  });
  entries[0]?.leave();
  await Promise.resolve();
  assert.deepEqual([inFlight.count, isNone], [1, false]);
  entries[1]?.leave();
  await none;
});
