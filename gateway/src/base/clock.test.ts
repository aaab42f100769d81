/** Tests periodic tasks of the system clock, on the shared timer or with a timer of their own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock as clock } from "./clock.ts";

for (const periodMs of [30, 500]) {
  test(`the system clock repeats a task every ${periodMs} ms until it is cancelled`, async () => {
    let done = 0;
    // Keeps the process alive, because periodic tasks do not.
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
