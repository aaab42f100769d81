/**
 * Counts matching requests per time bucket and outcome. Uses rollups if the filter allows it and buckets are whole
 * hours, otherwise records.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { REQUEST_OUTCOMES } from "../base/stored-enumerations.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../base/time.ts";
import { hasClosedDays, usageRowsSql } from "../db/closed-days.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";
import {
  buildRollupConditions,
  createParameterBinder,
  needsRecordSearch,
  type RequestFilter,
} from "./request-filter.ts";
import {
  buildFilterCondition,
  countLabelledRequests,
  splitTimeSpan,
  sumRequests,
  type TimeSpan,
} from "./request-totals.ts";

const BUCKETS_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  DAY_MS,
  7 * DAY_MS,
  28 * DAY_MS,
];
/** The most buckets. A span that begins within a bucket has one more. */
const BUCKETS_MAX = 120;
/** The start of the first bucket of all: a Monday, so that weeks begin on Mondays. */
const ORIGIN = "1970-01-05T00:00:00Z";

const OutcomeCount = row({ at: column.moment, outcome: z.enum(REQUEST_OUTCOMES), requests: column.count });
type OutcomeCount = z.infer<typeof OutcomeCount>;
const First = row({ hour: column.moment.nullable() });

export interface RequestCountSeries {
  from: Date;
  to: Date;
  bucketMs: number;
  /** Undefined: the query would have to read more records than allowed. */
  counts: OutcomeCount[] | undefined;
}

export async function countRequestsOverTime(
  pool: pg.Pool,
  accountId: Uuid,
  { filter, nowMs, recordsMax }: { filter: RequestFilter; nowMs: number; recordsMax: number },
): Promise<RequestCountSeries> {
  const to = new Date(Math.min(filter.to?.getTime() ?? nowMs, nowMs));
  const from = filter.from ?? (await firstHour(pool, accountId)) ?? new Date(to.getTime() - DAY_MS);
  if (from >= to) return { from, to: from, bucketMs: MINUTE_MS, counts: [] };
  const fits = (ms: number): boolean => to.getTime() - from.getTime() <= ms * BUCKETS_MAX;
  const bucketMs = BUCKETS_MS.find(fits) ?? (BUCKETS_MS.at(-1) as number);
  const span = { from, to };
  const isOpen = filter.to === undefined || filter.to.getTime() >= nowMs;
  const isRolledUp = filter.label === undefined && !needsRecordSearch(filter);
  if (isRolledUp && bucketMs >= HOUR_MS) {
    return {
      ...span,
      bucketMs,
      counts: await ofRollups(pool, accountId, { ...filter, ...span }, { bucketMs, isOpen }),
    };
  }
  const { label } = filter;
  const toRead =
    label === undefined
      ? (await sumRequests(pool, accountId, { filter: span, nowMs })).requests
      : await countLabelledRequests(pool, accountId, { label, ...span });
  if (toRead <= recordsMax) {
    return { ...span, bucketMs, counts: await ofRecords(pool, accountId, { ...filter, ...span }, bucketMs) };
  }
  if (!isRolledUp) return { ...span, bucketMs, counts: undefined };
  const ofHour = { bucketMs: HOUR_MS, isOpen };
  return { ...span, bucketMs: HOUR_MS, counts: await ofRollups(pool, accountId, { ...filter, ...span }, ofHour) };
}

const firstHour = async (pool: pg.Pool, accountId: Uuid): Promise<Date | null> =>
  (await queryOne(pool, First, "select min(hour) as hour from usage_hour where account_id = $1", [accountId])).hour;

const SUMS = "sum(requests)::float8 as requests";
const begins = (moment: string, place: string): string =>
  `date_bin(${place}::float8 * interval '1 ms', ${moment}, '${ORIGIN}'::timestamptz)`;

async function ofRecords(
  pool: pg.Pool,
  accountId: Uuid,
  filter: RequestFilter & TimeSpan,
  bucketMs: number,
): Promise<OutcomeCount[]> {
  const values: unknown[] = [accountId];
  const bind = createParameterBinder(values);
  const at = begins("uuid_time(id)", bind(bucketMs));
  return await queryRows(
    pool,
    OutcomeCount,
    `select ${at} as at, outcome, ${SUMS} from request where ${buildFilterCondition(filter, bind)} group by 1, 2 order by 1, 2`,
    values,
  );
}

/** Counts whole hours from rollups and partial hours from records. `isOpen`: the span ends now. */
async function ofRollups(
  pool: pg.Pool,
  accountId: Uuid,
  filter: RequestFilter & TimeSpan,
  { bucketMs, isOpen }: { bucketMs: number; isOpen: boolean },
): Promise<OutcomeCount[]> {
  // An open span needs no records at its end, because the rollup includes the current hour.
  const { whole, edges } = splitTimeSpan({ from: filter.from, to: isOpen ? undefined : filter.to }, HOUR_MS);
  const rest = edges.map((edge) => ofRecords(pool, accountId, { ...filter, ...edge }, bucketMs));
  const hours =
    whole === undefined
      ? []
      : [ofHours(pool, accountId, { ...filter, from: whole.from, to: whole.to ?? filter.to }, bucketMs)];
  const sums = new Map<string, OutcomeCount>();
  for (const one of (await Promise.all([...hours, ...rest])).flat()) {
    const key = `${one.at.getTime()} ${one.outcome}`;
    sums.set(key, { ...one, requests: one.requests + (sums.get(key)?.requests ?? 0) });
  }
  return [...sums.values()].sort((a, b) => a.at.getTime() - b.at.getTime() || (a.outcome < b.outcome ? -1 : 1));
}

async function ofHours(
  pool: pg.Pool,
  accountId: Uuid,
  filter: RequestFilter & TimeSpan,
  bucketMs: number,
): Promise<OutcomeCount[]> {
  const values: unknown[] = [accountId, filter.from, filter.to];
  const bind = createParameterBinder(values);
  const at = begins("hour", bind(bucketMs));
  // If buckets are whole days, closed days can be used: a day is one row instead of 24.
  const hasDays = bucketMs % DAY_MS === 0 && (await hasClosedDays(pool));
  const used = usageRowsSql("own", { from: "$2::timestamptz", to: "$3::timestamptz" }, hasDays);
  return await queryRows(
    pool,
    OutcomeCount,
    `select ${at} as at, outcome, ${SUMS} from ${used} used where ${buildRollupConditions(filter, bind)} group by 1, 2 order by 1, 2`,
    values,
  );
}
