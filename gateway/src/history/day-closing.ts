/**
 * Closes finished days: computes the sums that queries over long ranges read. Repeats this after late changes. One
 * transaction per day, newest first, in one gateway at a time.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { MINUTE_MS } from "../base/time.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";
import { queryOne, row } from "../db/rows.ts";

const LOOK_EVERY_MS = 5 * MINUTE_MS;
/** The most days per run, to limit the load on the database when a long history has no closed days yet. */
const DAYS_AT_ONCE = 20;

/**
 * Deletes sums by hour that are older than every time span for which they are shown. `rollup-writer.ts` uses the same age.
 */
const FORGET = "delete from performance_all where grain = 'hour' and slot < now() - interval '100 days'";

const Closed = row({ day: z.string().nullable() });

export interface DayClosing {
  /** Closes at most `daysMax` days of each kind and returns the total. */
  run(daysMax?: number): Promise<number>;
  stop(): Promise<void>;
}

export function startDayClosing({ pool, clock, log }: { pool: pg.Pool; clock: Clock; log: Log }): DayClosing {
  let running: Promise<unknown> | undefined;
  let isStopped = false;
  const closeDays = async (by: string, daysMax: number): Promise<number> => {
    for (let closed = 0; ; closed++) {
      if (closed === daysMax || isStopped) return closed;
      if ((await queryOne(pool, Closed, `select ${by}() as day`)).day === null) return closed;
    }
  };
  const run = async (daysMax = Number.POSITIVE_INFINITY): Promise<number> => {
    const closed = await closeDays("history_close_usage", daysMax);
    await pool.query(FORGET);
    return closed + (await closeDays("history_close_performance", daysMax));
  };
  const look = (): void => {
    running ??= run(DAYS_AT_ONCE)
      .catch((error) =>
        log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, "could not finish daily rollups"),
      )
      .finally(() => {
        running = undefined;
      });
  };
  const stopLooking = clock.every(LOOK_EVERY_MS, look);
  return {
    run,
    async stop() {
      isStopped = true;
      stopLooking();
      await running;
    },
  };
}
