/** Counts ended requests into the rollups of performance and labels, a few seconds later so that requests do not wait for it. */
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { performanceTable } from "../db/closed-days.ts";
import { isAway } from "../db/errors.ts";
import { column, queryOne, row } from "../db/rows.ts";

const RUN_AFTER_MS = 3_000;
/** For requests that a gateway left when it died. */
const LOOK_EVERY_MS = 60_000;
const FORGET_EVERY_MS = 3_600_000;
const AT_ONCE_MAX = 20_000;
/** The length of the finest slot. A merge at this interval writes each row of such a slot only once or twice. */
const MERGE_EVERY_MS = 300_000;
const PARTS_AT_ONCE_MAX = 20_000;
/** Parts cost their readers: above this number those of the running slot are merged too. */
const PARTS_MAX = 50_000;
const COUNT_PARTS_EVERY_MS = 30_000;
const PARTS = `select count(*)::int as parts from performance_part`;

const BACKLOG = `select count(*)::int as waiting,
  (select uuid_time(request_id) from unrolled order by request_id limit 1) as oldest from unrolled`;

const Rolled = row({ rolled: column.count.nullable() });
const Merged = row({ merged: column.count.nullable() });
const Parts = row({ parts: column.count });
const Waiting = row({ waiting: column.count, oldest: column.moment.nullable() });

/** Ended requests that are in no rollup yet. */
interface Backlog {
  requests: number;
  /** The creation time of the oldest; null without any. */
  oldest: Date | null;
}

export interface Rollups {
  /** A request was settled; it is counted soon. */
  soon(): void;
  /** Counts all ended requests and returns their number. One gateway at a time; another's run counts as done. */
  run(): Promise<number>;
  /**
   * Merges parts of slots that have ended, or all parts where too many have piled up, and returns how many they were. It waits for no other
   * gateway.
   */
  merge(): Promise<number>;
  /** The backlog at the latest check, which runs every minute; undefined before the first. */
  backlog(): Backlog | undefined;
  stop(): Promise<void>;
}

export function openRollups({ pool, clock, log }: { pool: pg.Pool; clock: Clock; log: Log }): Rollups {
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
      // The other gateway's run may have missed requests that ended since it began.
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
    if ((await performanceTable(pool)) === "performance") return 0;
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
    work().catch((error) => log[isAway(error) ? "debug" : "warn"]({ err: error }, `${what} failed`));
  };
  const stops = [
    clock.every(RUN_AFTER_MS, () => {
      // Requests that end during a run may be too late for it.
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

/** Deletes slots older than every range, as in history_merge_performance.sql. Days stay. */
async function forget(pool: pg.Pool): Promise<void> {
  await pool.query(
    `delete from performance
      where (grain = '5min' and slot < now() - interval '3 days') or (grain = 'hour' and slot < now() - interval '100 days')`,
  );
}
