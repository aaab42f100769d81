/**
 * Ensures that one process at a time migrates a database. The others poll for the lock. A statement that waits for it
 * inside the database would block a concurrent index build, which in turn waits for that statement.
 */
import type pg from "pg";
import { z } from "zod";
import { sleep, systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { MINUTE_MS } from "../base/time.ts";
import { ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS } from "./advisory-locks.ts";
import { queryOne, row } from "./rows.ts";
import { MigrationError } from "./sql-files.ts";

const Taken = row({ taken: z.boolean() });
const ASK_EVERY_MS = 200;
const WAIT_MS_MAX = 10 * MINUTE_MS;

/** Waits for the lock, which is held until the connection ends. */
export async function takeMigrationLock(client: pg.PoolClient, log: Log): Promise<void> {
  // Removes the timeouts of the gateway's statements, because migrations may run and wait for hours.
  await client.query("set statement_timeout = 0; set lock_timeout = 0");
  const deadline = systemClock.monotonic() + WAIT_MS_MAX;
  for (let asked = 0; ; asked++) {
    const key = [ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS.migration];
    const { taken } = await queryOne(client, Taken, "select pg_try_advisory_lock($1, $2) as taken", key);
    if (taken) return;
    if (asked === 0) log.info("waiting for another process that migrates the database");
    if (systemClock.monotonic() > deadline) {
      throw new MigrationError("Another process has been migrating the database for ten minutes. Try again later.");
    }
    await sleep(systemClock, ASK_EVERY_MS);
  }
}
