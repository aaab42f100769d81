/** Periodic tasks of the system clock, on shared beats or with their own timers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock as clock } from "./clock.ts";

for (const periodMs of [30, 500]) {
  test(`repeats a task every ${periodMs} ms until it is cancelled`, async () => {
    let done = 0;
    // Periodic tasks do not keep the process alive.
    const stopWaiting = clock.after(60_000, () => {});
    await new Promise<void>((resolve) => {
      const stop = clock.every(periodMs, () => {
        done += 1;
        if (done < 2) return;
        stop();
        resolve();
      });
    });
    stopWaiting();
    assert.equal(done, 2);
  });
}
