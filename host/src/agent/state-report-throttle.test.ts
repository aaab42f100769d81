/** A node reports its state at once after a change, but never often enough that a gateway disconnects it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { STATE_REQUEST_SUBJECT } from "@tollgate/protocol/nats-subjects.ts";
import { waitOneTurn } from "../clock.ts";
import { AgentHarness } from "../testing/agent-harness.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { StateReportThrottle } from "./state-report-throttle.ts";

test("the throttle runs rare calls immediately, delays frequent ones, and always runs the last call", () => {
  const clock = new ManualClock();
  const start = clock.now();
  const done: number[] = [];
  const throttle = new StateReportThrottle(clock, { perSecond: 10, burst: 3 }, () => done.push(clock.now() - start));
  for (let i = 0; i < 250; i++) {
    throttle.due();
    clock.advance(1);
  }
  assert.deepEqual(done.slice(0, 3), [0, 1, 2]);
  const pauses = done.slice(3).map((at, i) => at - (i === 0 ? 0 : (done[i + 2] as number)));
  assert.ok(pauses.length === 2 && pauses.every((ms) => ms >= 100 && ms <= 102), String(done));
  clock.advance(1_000);
  assert.equal(done.length, 6, "the last one is done, and once");
  throttle.due();
  assert.equal(done.length, 7, "at once again after a quiet time");
  for (let i = 0; i < 10; i++) throttle.due();
  assert.equal(done.length, 9);
  throttle.stop();
  clock.advance(1_000);
  assert.equal(done.length, 9);
});

test("a node with 100 jobs a second reports its state at most 20 times a second, and the last report is correct", async () => {
  const harness = new AgentHarness({ slots: 2 });
  await harness.online();
  const before = harness.states().length;
  for (let i = 0; i < 100; i++) {
    await harness.plane.ending(harness.script({ text: "ok" }));
    await waitOneTurn(harness.clock);
    harness.plane.send(STATE_REQUEST_SUBJECT, new Uint8Array(0));
    harness.clock.advance(10);
  }
  const reports = harness.states().length - before;
  assert.ok(reports >= 12 && reports <= 20, `${reports} reports within a second`);
  const stuck = harness.script({ stall_after: 0 });
  await waitOneTurn(harness.clock);
  harness.clock.advance(100);
  assert.equal(harness.states().at(-1)?.busy, 1);
  harness.cancel(stuck);
  await waitOneTurn(harness.clock);
  await waitOneTurn(harness.clock);
  harness.clock.advance(100);
  assert.equal(harness.states().at(-1)?.busy, 0);
  await harness.agent.stop();
});
