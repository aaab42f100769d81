/**
 * Adds ended requests to the rollups of performance and labels. Runs a few seconds later, so that requests do not wait
 * for it.
 */
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { HOUR_MS } from "../base/time.ts";
import { findPerformanceTable } from "../db/closed-days.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";
import { column, queryOne, row } from "../db/rows.ts";

const RUN_AFTER_MS = 3_000;
/** How often to check for requests that a gateway left behind when it died. */
const LOOK_EVERY_MS = 60_000;
const FORGET_EVERY_MS = HOUR_MS;
const AT_ONCE_MAX = 20_000;
/** The interval of merges. It equals the finest time slot, so that each row of a slot is written only once or twice. */
const MERGE_EVERY_MS = 300_000;
/**
 * The most parts that one transaction merges. While it runs, PostgreSQL keeps every old version of the rows that requests
 * update, and each lookup of a busy host's account reads them all. A merge of 20,000 parts takes seconds, and costs no
 * less for each part (bench/rollups).
 */
const PARTS_AT_ONCE_MAX = 1_000;
/**
 * The most rows of `performance_part` (partial sums that are not merged yet) that readers should have to add up. Above
 * this number, the rows of the current time slot are merged too.
 */
const PARTS_MAX = 50_000;
const COUNT_PARTS_EVERY_MS = 30_000;
const PARTS = `select count(*)::int as parts from performance_part`;

const BACKLOG = `select count(*)::int as waiting,
  (select uuid_time(request_id) from unrolled order by request_id limit 1) as oldest from unrolled`;

const Rolled = row({ rolled: column.count.nullable() });
const Merged = row({ merged: column.count.nullable() });
const Parts = row({ parts: column.count });
const Waiting = row({ waiting: column.count, oldest: column.moment.nullable() });

/** Ended requests that are not in the rollups yet. */
interface Backlog {
  requests: number;
  /** When the oldest of these requests was created. Null if there are none. */
  oldest: Date | null;
}

export interface RollupWriter {
  /** Called when a request is settled. It is counted within seconds. */
  soon(): void;
  /** Counts all ended requests and returns their number. Only one gateway at a time does so; others return 0. */
  run(): Promise<number>;
  /**
   * Merges the parts of slots that have ended, or of all slots if too many parts have piled up. Returns the number of
   * merged parts. Does not wait for other gateways.
   */
  merge(): Promise<number>;
  /** The backlog at the latest check, which runs every minute. Undefined before the first. */
  backlog(): Backlog | undefined;
  stop(): Promise<void>;
}

export function openRollupWriter({ pool, clock, log }: { pool: pg.Pool; clock: Clock; log: Log }): RollupWriter {
  let isDue = true;
  let running: Promise<number> | undefined;
  let backlog: Backlog | undefined;
  const look = async (): Promise<void> => {
    const { waiting, oldest } = await queryOne(pool, Waiting, BACKLOG);
    backlog = { requests: waiting, oldest };
  };
  const rollUp = async (): Promise<number> => {
    let total = 0;
    for (;;) {
      const { rolled } = await queryOne(pool, Rolled, "select history_roll_up($1) as rolled", [AT_ONCE_MAX]);
      // Null: another gateway is updating the rollups. It may miss requests that ended since it began, so this gateway
      // tries again later.
      if (rolled === null) isDue = true;
      total += rolled ?? 0;
      if (rolled !== AT_ONCE_MAX) return total;
    }
  };
  const run = (): Promise<number> => {
    running ??= rollUp().finally(() => {
      running = undefined;
    });
    return running;
  };
  let mergesAt = clock.now() + MERGE_EVERY_MS;
  let merging: Promise<number> | undefined;
  const mergeParts = async (isDue: boolean): Promise<number> => {
    if ((await findPerformanceTable(pool)) === "performance") return 0;
    const tooMany = (await queryOne(pool, Parts, PARTS)).parts > PARTS_MAX;
    if (!isDue && !tooMany) return 0;
    let total = 0;
    for (;;) {
      const text = "select history_merge_performance($1, $2) as merged";
      const { merged } = await queryOne(pool, Merged, text, [PARTS_AT_ONCE_MAX, tooMany ? "infinity" : null]);
      total += merged ?? 0;
      if (merged !== PARTS_AT_ONCE_MAX) return total;
    }
  };
  const merge = (isDue = true): Promise<number> => {
    merging ??= mergeParts(isDue).finally(() => {
      merging = undefined;
    });
    return merging;
  };
  const trying = (what: string, work: () => Promise<unknown>): void => {
    work().catch((error) => log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, `${what} failed`));
  };
  const stops = [
    clock.every(RUN_AFTER_MS, () => {
      // A run in progress may miss requests that end during it, so `isDue` stays set and another run follows.
      if (!isDue || running !== undefined) return;
      isDue = false;
      trying("adding requests to the rollups", () =>
        run().catch((error) => {
          isDue = true;
          throw error;
        }),
      );
    }),
    clock.every(LOOK_EVERY_MS, () => {
      isDue = true;
      trying("looking for requests to add to the rollups", look);
    }),
    clock.every(COUNT_PARTS_EVERY_MS, () => {
      const isDue = clock.now() >= mergesAt;
      if (isDue) mergesAt = clock.now() + MERGE_EVERY_MS;
      trying("merging rollups", () => merge(isDue));
    }),
    clock.every(FORGET_EVERY_MS, () => trying("deleting old rollups", () => forget(pool))),
  ];
  return {
    soon() {
      isDue = true;
    },
    run,
    merge: () => merge(),
    backlog: () => backlog,
    async stop() {
      for (const stop of stops) stop();
      await Promise.all([running?.catch(() => {}), merging?.catch(() => {})]);
    },
  };
}

/** Deletes slots older than every range, as in history_merge_performance.sql. Daily slots stay. */
async function forget(pool: pg.Pool): Promise<void> {
  await pool.query(
    `delete from performance
      where (grain = '5min' and slot < now() - interval '3 days') or (grain = 'hour' and slot < now() - interval '100 days')`,
  );
}
