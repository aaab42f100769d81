/**
 * Of two processes that migrate a database at once one does and the other waits. It waits by asking again and again: a
 * statement that waits in the database would hold up an index that is built beside others' work, and both would wait for
 * each other.
 */
import type pg from "pg";
import { z } from "zod";
import { sleep, systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { LOCK, LOCK_CLASS } from "./advisory.ts";
import { queryOne, row } from "./rows.ts";
import { MigrationError } from "./sql-files.ts";

const Taken = row({ taken: z.boolean() });
const ASK_EVERY_MS = 200;
const WAIT_MS_MAX = 10 * 60 * 1000;

/** Held until the connection ends. */
export async function takeMigrationLock(client: pg.PoolClient, log: Log): Promise<void> {
  // A migration may take, and wait, as long as it needs, unlike the gateway's statements.
  await client.query("set statement_timeout = 0; set lock_timeout = 0");
  const deadline = systemClock.monotonic() + WAIT_MS_MAX;
  for (let asked = 0; ; asked++) {
    const key = [LOCK_CLASS, LOCK.migration];
    const { taken } = await queryOne(client, Taken, "select pg_try_advisory_lock($1, $2) as taken", key);
    if (taken) return;
    if (asked === 0) log.info("waiting for another process that migrates the database");
    if (systemClock.monotonic() > deadline) {
      throw new MigrationError("Another process has been migrating the database for ten minutes. Try again later.");
    }
    await sleep(systemClock, ASK_EVERY_MS);
  }
}
