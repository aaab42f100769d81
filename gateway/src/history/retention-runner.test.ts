/** A gateway drops old records on its own schedule, and stops doing so when it shuts down. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { HOUR_MS } from "../base/time.ts";
import { startRetentionRunner } from "./retention-runner.ts";
import { countDaysOfLastMonths, openRetentionRig, PAST_MONTHS, type RetentionRig } from "./testing-retention.ts";

let rig: RetentionRig;
beforeEach(async () => {
  rig = await openRetentionRig();
});
afterEach(() => rig.close());

describe("a gateway with retention", () => {
  test("drops months that are old enough on its own schedule, and reports the number of remaining months", async () => {
    await rig.openPast();
    const clock = manualClock();
    const retention = rig.retentionOf({ historyDays: countDaysOfLastMonths(2) });
    const retaining = startRetentionRunner({ retention, pool: rig.db.pool, clock, log: createLog("silent") });
    await eventually("it has looked", () => retaining.months());
    assert.deepEqual(retaining.months(), { kept: PAST_MONTHS + 1, due: 2 });
    clock.advance(HOUR_MS);
    await eventually("it has dropped them", () => retaining.months()?.due === 0);
    assert.deepEqual(retaining.months(), { kept: PAST_MONTHS - 1, due: 0 });
    await retaining.stop();
    assert.deepEqual(await rig.differing(), []);
  });

  test("that stops while it drops a month's records cancels the drop, and leaves the records unchanged", async () => {
    await rig.openPast();
    const before = await rig.partitions();
    const reader = await rig.db.pool.connect();
    await reader.query("begin");
    await reader.query("select count(*) from request");
    const clock = manualClock();
    const retention = rig.retentionOf({ historyDays: countDaysOfLastMonths(2) });
    const retaining = startRetentionRunner({
      retention,
      pool: rig.db.pool,
      clock: { ...systemClock, every: clock.every },
      log: createLog("silent"),
    });
    await eventually("it has looked", () => retaining.months());
    clock.advance(HOUR_MS);
    await eventually("it is at it", async () => {
      const { rows } = await rig.db.pool.query(
        `select from pg_locks where locktype = 'advisory' and granted
            and database = (select oid from pg_database where datname = current_database())`,
      );
      return rows.length > 0;
    });
    await retaining.stop();
    await reader.query("rollback");
    reader.release();
    assert.deepEqual(await rig.partitions(), before);
    assert.deepEqual(await rig.differing(), []);
  });
});
