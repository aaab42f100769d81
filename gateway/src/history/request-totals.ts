/**
 * Exact sums of the requests that match a filter. Whole hours and days, or days of a label, are read from rollups, and
 * the rest of the span from records.
 */
import type pg from "pg";
import type { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import { DAY_MS, HOUR_MS } from "../base/time.ts";
import { hasClosedDays, usageRowsSql } from "../db/closed-days.ts";
import { column, queryOne, row } from "../db/rows.ts";
import {
  type BindParameter,
  buildRecordConditions,
  buildRollupConditions,
  createParameterBinder,
  needsRecordSearch,
  type RequestFilter,
  usesRollupColumns,
} from "./request-filter.ts";

const Total = row({
  requests: column.count,
  promptTokens: column.count,
  completionTokens: column.count,
  charge: column.pico,
});
export type RequestTotal = z.infer<typeof Total>;

export interface TimeSpan {
  from?: Date | undefined;
  to?: Date | undefined;
}

const SUMS = `coalesce(sum(requests), 0)::float8 as requests, coalesce(sum(prompt_tokens), 0)::float8 as "promptTokens",
  coalesce(sum(completion_tokens), 0)::float8 as "completionTokens", coalesce(sum(charge_pico), 0) as charge`;

export async function sumRequests(
  pool: pg.Pool,
  accountId: Uuid,
  { filter, nowMs }: { filter: RequestFilter; nowMs: number },
): Promise<RequestTotal> {
  const { label, from, to } = filter;
  if (needsRecordSearch(filter)) return await ofRecords(pool, accountId, filter);
  if (label === undefined) {
    const { whole, edges } = splitTimeSpan({ from, to }, HOUR_MS);
    return await added([
      ...(whole === undefined ? [] : [ofHours(pool, accountId, { ...filter, ...whole })]),
      ...edges.map((edge) => ofRecords(pool, accountId, { ...filter, ...edge })),
    ]);
  }
  if (usesRollupColumns(filter)) return await ofRecords(pool, accountId, filter);
  // The end of the days that are read from the rollup. The latest day is read from records, because its rollup may lack
  // recent requests.
  const settled = new Date(Math.floor((nowMs - HOUR_MS) / DAY_MS) * DAY_MS);
  const { whole, edges } = splitTimeSpan({ from, to: to !== undefined && to < settled ? to : settled }, DAY_MS);
  const rest = to === undefined || to > settled ? [{ from: later(from, settled), to }] : [];
  return await added([
    ...(whole === undefined ? [] : [ofDays(pool, accountId, { label, ...whole })]),
    ...[...edges, ...rest].map((edge) => ofRecords(pool, accountId, { ...filter, ...edge })),
  ]);
}

export async function countLabelledRequests(
  pool: pg.Pool,
  accountId: Uuid,
  { label, from, to }: OfLabel,
): Promise<number> {
  const end = to && new Date(Math.ceil(to.getTime() / DAY_MS) * DAY_MS);
  return (await ofDays(pool, accountId, { label, from, to: end })).requests;
}

interface OfLabel extends TimeSpan {
  label: string;
}

async function ofRecords(pool: pg.Pool, accountId: Uuid, filter: RequestFilter): Promise<RequestTotal> {
  const values: unknown[] = [accountId];
  return await queryOne(
    pool,
    Total,
    `select ${SUMS} from request where ${buildFilterCondition(filter, createParameterBinder(values))}`,
    values,
  );
}

/** An SQL condition for the records of account `$1` that match a filter. */
export function buildFilterCondition(filter: RequestFilter, bind: BindParameter): string {
  const { from, to } = filter;
  return `account_id = $1 and ${from === undefined ? "true" : `id >= uuid_floor(${bind(from)})`}
    and ${to === undefined ? "true" : `id < uuid_floor(${bind(to)})`} and ${buildRollupConditions(filter, bind)} and ${buildRecordConditions(filter, bind)}`;
}

async function ofHours(pool: pg.Pool, accountId: Uuid, { from, to, ...filter }: RequestFilter): Promise<RequestTotal> {
  const span = { from: "coalesce($2::timestamptz, '-infinity')", to: "coalesce($3::timestamptz, 'infinity')" };
  const values: unknown[] = [accountId, from ?? null, to ?? null];
  const used = usageRowsSql("own", span, await hasClosedDays(pool));
  return await queryOne(
    pool,
    Total,
    `select ${SUMS} from ${used} used where ${buildRollupConditions(filter, createParameterBinder(values))}`,
    values,
  );
}

const ofDays = (pool: pg.Pool, accountId: Uuid, { label, from, to }: OfLabel) =>
  queryOne(
    pool,
    Total,
    `select ${SUMS} from label_day
      where account_id = $1 and label = $4 and ($2::timestamptz is null or day >= ($2 at time zone 'UTC')::date)
        and ($3::timestamptz is null or day < ($3 at time zone 'UTC')::date)`,
    [accountId, from ?? null, to ?? null, label],
  );

/** Splits a span into its whole units, if any, and the remaining parts before and after them. */
export function splitTimeSpan(
  { from, to }: TimeSpan,
  unitMs: number,
): { whole: TimeSpan | undefined; edges: TimeSpan[] } {
  if (from !== undefined && to !== undefined && from >= to) return { whole: undefined, edges: [] };
  const first = from && new Date(Math.ceil(from.getTime() / unitMs) * unitMs);
  const last = to && new Date(Math.floor(to.getTime() / unitMs) * unitMs);
  if (first !== undefined && last !== undefined && first >= last) return { whole: undefined, edges: [{ from, to }] };
  const edges = [
    ...(from !== undefined && first !== undefined && from < first ? [{ from, to: first }] : []),
    ...(to !== undefined && last !== undefined && last < to ? [{ from: last, to }] : []),
  ];
  return { whole: { from: first, to: last }, edges };
}

const later = (a: Date | undefined, b: Date): Date => (a !== undefined && a > b ? a : b);

async function added(parts: Promise<RequestTotal>[]): Promise<RequestTotal> {
  const none = { requests: 0, promptTokens: 0, completionTokens: 0, charge: pico(0n) };
  return (await Promise.all(parts)).reduce(
    (sum, part) => ({
      requests: sum.requests + part.requests,
      promptTokens: sum.promptTokens + part.promptTokens,
      completionTokens: sum.completionTokens + part.completionTokens,
      charge: pico(sum.charge + part.charge),
    }),
    none,
  );
}
