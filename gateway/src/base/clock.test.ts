/** The system's clock: what is done again and again, on the beat or at a pace of its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock as clock } from "./clock.ts";

for (const periodMs of [30, 500]) {
  test(`repeats a task every ${periodMs} ms until it is cancelled`, async () => {
    let done = 0;
    // What is done again and again keeps no one alive.
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
