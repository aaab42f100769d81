import assert from "node:assert/strict";
import { test } from "node:test";
import { waitOneTurn } from "../clock.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { EngineError } from "./engine.ts";
import type { ServerLiveness } from "./engine-http.ts";
import { JobWatchdog } from "./job-watchdog.ts";

function harness(liveness: ServerLiveness) {
  const clock = new ManualClock();
  const told: number[] = [];
  const state = { liveness };
  const watchdog = new JobWatchdog({ clock, tell: (read) => told.push(read), probe: async () => state.liveness });
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      clock.advance(1000);
      await waitOneTurn(clock);
    }
  };
  return { watchdog, told, pass, state };
}

test("reports progress every second until the first output, while the engine's server responds", async () => {
  const { watchdog, told, pass } = harness("answers");
  await pass(10);
  assert.equal(told.length, 10);
  watchdog.output();
  await pass(5);
  assert.equal(told.length, 10);
  watchdog.end();
});

test("stops reporting progress within seconds when the engine freezes", async () => {
  const { watchdog, told, pass, state } = harness("answers");
  await pass(3);
  state.liveness = "slow";
  await pass(20);
  assert.ok(told.length < 3 + 7, `${told.length} times`);
  state.liveness = "answers";
  const before = told.length;
  await pass(3);
  assert.ok(told.length > before, "it thawed");
  watchdog.end();
});

test("fails the job after a minute when the server responds but the model hangs", async () => {
  const { watchdog, pass } = harness("answers");
  await pass(59);
  assert.equal(watchdog.signal.aborted, false);
  await pass(1);
  assert.ok(watchdog.signal.aborted && watchdog.signal.reason instanceof EngineError);
  watchdog.end();
});

test("passes on the engine's own progress immediately, and repeats it until it changes", async () => {
  const { watchdog, told, pass } = harness("answers");
  watchdog.read(0.25);
  await pass(2);
  watchdog.read(0.5);
  assert.deepEqual(told, [0.25, 0.25, 0.25, 0.5]);
  await pass(59);
  assert.equal(watchdog.signal.aborted, false, "its progress counts as words");
  watchdog.end();
});

test("fails the job when the engine stops sending output during its answer", async () => {
  const { watchdog, pass } = harness("answers");
  watchdog.output();
  await pass(61);
  assert.equal(watchdog.signal.aborted, true);
  watchdog.end();
  assert.equal(await pass(1), undefined);
});
