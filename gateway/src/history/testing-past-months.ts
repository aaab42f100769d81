/** For retention tests: creates past months with the partitions that a gateway would have created. */
import { eventually } from "@tollgate/stage/wait.ts";
import type pg from "pg";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { systemRandom } from "../base/random.ts";
import { DAY_MS } from "../base/time.ts";

/**
 * With less time left in the day, a test waits for the next one. Longer than any of these tests takes, but shorter than
 * the limit for hanging tests.
 */
const BEFORE_MIDNIGHT_MS = 240_000;

/**
 * Waits for the next UTC day if the current day is about to end. For tests that compare days and months by the
 * database's clock, which tests cannot move.
 */
export const waitPastMidnight = (): Promise<unknown> =>
  eventually("the next day has begun", () => DAY_MS - (systemClock.now() % DAY_MS) > BEFORE_MIDNIGHT_MS);

/** The first moment of the month `count` months ago. */
export function monthsAgo(months: number): Date {
  const now = new Date(systemClock.now());
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1));
}

/** A month's name, such as `2026-03`. */
export const formatMonth = (begins: Date): string => begins.toISOString().slice(0, 7);

/** Creates the partitions of the last `months` months, as if the platform were that old. */
export async function makePastMonths(pool: pg.Pool, months: number): Promise<void> {
  for (let ago = months; ago > 0; ago--) {
    const [from, to] = [monthsAgo(ago), monthsAgo(ago - 1)];
    const { rows } = await pool.query("select uuid_floor($1) as from, uuid_floor($2) as to", [from, to]);
    const name = `request_${formatMonth(from).replace("-", "_")}`;
    await pool.query(
      `create table ${name} partition of request for values from ('${rows[0].from}') to ('${rows[0].to}')`,
    );
  }
}

/** Creates an ID with this time. */
export const makeIdAt = (at: Date): Uuid => newIds({ ...systemClock, now: () => at.getTime() }, systemRandom())();
