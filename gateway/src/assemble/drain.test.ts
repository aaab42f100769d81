/**
 * Tests the steps of a gateway's drain (orderly shutdown) with a manual clock. e2e/replacing-gateways.test.ts tests the
 * effect on clients.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { InFlightRequests } from "../inference/in-flight.ts";
import { type DrainTimes, drainGateway } from "./drain.ts";

const log = createLog("silent");

function stopping({ delayMs, graceMs, spoolMs = 0 }: DrainTimes) {
  const clock = manualClock();
  const inFlight = new InFlightRequests();
  const steps: string[] = [];
  const spool = { isEmpty: true };
  const connections = Promise.withResolvers<void>();
  const app = {
    inFlight,
    notReady: () => void steps.push("not ready"),
    leave: (quietMs: number) => {
      steps.push(`takes no connections, quiet ones end after ${quietMs} ms`);
      return connections.promise;
    },
    cutOff: () => void steps.push("cuts connections"),
    isSpoolEmpty: async () => spool.isEmpty,
  };
  const request = inFlight.enter(new AbortController().signal);
  const start = (): void => {
    drainGateway(app, { delayMs, graceMs, spoolMs, clock, log }).then(() => steps.push("drained"), assert.ifError);
  };
  /** Advances the clock and returns the events so far. */
  const after = async (ms: number): Promise<string[]> => {
    clock.advance(ms);
    await turn();
    return steps.splice(0);
  };
  return { start, after, request, spool, closeConnections: connections.resolve };
}

test("a drain serves during the delay, then accepts no connections, and ends open requests after the grace period", async () => {
  const { start, after, request, closeConnections } = stopping({ delayMs: 5_000, graceMs: 30_000 });
  start();
  assert.deepEqual(await after(0), ["not ready"]);
  assert.deepEqual(await after(4_999), [], "served as before");
  assert.deepEqual(await after(1), ["takes no connections, quiet ones end after 1000 ms"]);
  assert.deepEqual(await after(29_999), []);
  assert.equal(request.isStopped, false);
  await after(1);
  assert.equal(request.isStopped, true);
  assert.deepEqual(await after(4_999), [], "the last words are sent");
  assert.deepEqual(await after(1), ["cuts connections"]);
  request.leave();
  assert.deepEqual(await after(0), [], "a connection is left");
  closeConnections();
  assert.deepEqual(await after(0), ["drained"]);
});

test("a drain ends immediately when no request is in flight", async () => {
  const { start, after, request, closeConnections } = stopping({ delayMs: 0, graceMs: 30_000 });
  start();
  assert.deepEqual(await after(0), ["not ready", "takes no connections, quiet ones end after 0 ms"]);
  closeConnections();
  assert.deepEqual(await after(10_000), [], "the request is waited for");
  request.leave();
  assert.deepEqual(await after(0), ["drained"]);
  assert.deepEqual(await after(60_000), []);
  assert.equal(request.isStopped, false);
});

test("a drain waits until the spool is empty, up to the configured time", async () => {
  for (const isEmptied of [true, false]) {
    const { start, after, request, spool, closeConnections } = stopping({ delayMs: 0, graceMs: 0, spoolMs: 60_000 });
    spool.isEmpty = false;
    request.leave();
    closeConnections();
    start();
    assert.deepEqual(await after(0), ["not ready", "takes no connections, quiet ones end after 0 ms"]);
    assert.deepEqual(await after(0), [], "the spool is not empty");
    for (let passed = 0; passed < 30; passed++) assert.deepEqual(await after(1_000), []);
    spool.isEmpty = isEmptied;
    const steps: string[] = [];
    for (let passed = 0; passed < (isEmptied ? 1 : 30); passed++) steps.push(...(await after(1_000)));
    assert.deepEqual(steps, ["drained"]);
  }
});
