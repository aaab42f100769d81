/** Tests the helper for tests that must not cross a calendar minute or day. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runWithinOneMinuteOrDay } from "./within-one-minute-or-day.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

test("an observation is repeated until it began and ended on one day by every clock", async () => {
  const day = { database: 1, stage: 0 };
  const clocks = [() => day.database * DAY_MS, () => day.stage * DAY_MS];
  const seen: string[] = [];
  const observe = async (): Promise<number> => {
    seen.push(`database on day ${day.database}, stage on day ${day.stage}`);
    if (seen.length === 2) day.stage = 1;
    return seen.length;
  };
  assert.equal(await runWithinOneMinuteOrDay("day", observe, clocks), 3);
  assert.deepEqual(seen, [
    "database on day 1, stage on day 0",
    "database on day 1, stage on day 0",
    "database on day 1, stage on day 1",
  ]);
});
