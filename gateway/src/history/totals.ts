/**
 * What the requests that a filter leaves add up to, to the last one: out of the rollups for whole hours and days, or for whole days of a
 * label, and out of the records for what is left at the edges.
 */
import type pg from "pg";
import type { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import { DAY_MS } from "../base/time.ts";
import { hasClosedDays, usedIn } from "../db/closed-days.ts";
import { column, queryOne, row } from "../db/rows.ts";
import type { Filter } from "./filter.ts";

const HOUR_MS = 3_600_000;

const Total = row({
  requests: column.count,
  promptTokens: column.count,
  completionTokens: column.count,
  charge: column.pico,
});
export type RequestTotal = z.infer<typeof Total>;

interface Span {
  from?: Date | undefined;
  to?: Date | undefined;
}

const SUMS = `coalesce(sum(requests), 0)::float8 as requests, coalesce(sum(prompt_tokens), 0)::float8 as "promptTokens",
  coalesce(sum(completion_tokens), 0)::float8 as "completionTokens", coalesce(sum(charge_pico), 0) as charge`;
const MATCHES =
  "($4::text is null or model = $4) and ($5::uuid[] is null or key_id = any ($5)) and ($6::text is null or outcome = $6)";

export async function totalOf(
  pool: pg.Pool,
  accountId: Uuid,
  { filter, nowMs }: { filter: Filter; nowMs: number },
): Promise<RequestTotal> {
  const { model, keyIds, outcome, label, from, to } = filter;
  const named = [model, keyIds, outcome].some((value) => value !== undefined);
  if (label === undefined) {
    const { whole, edges } = parted({ from, to }, HOUR_MS);
    return await added([
      ...(whole === undefined ? [] : [ofHours(pool, accountId, { ...filter, ...whole })]),
      ...edges.map((edge) => ofRecords(pool, accountId, { ...filter, ...edge })),
    ]);
  }
  if (named) return await ofRecords(pool, accountId, filter);
  // The day's rollup may lack what ended a moment ago: the last day is read from the records.
  const settled = new Date(Math.floor((nowMs - HOUR_MS) / DAY_MS) * DAY_MS);
  const { whole, edges } = parted({ from, to: to !== undefined && to < settled ? to : settled }, DAY_MS);
  const rest = to === undefined || to > settled ? [{ from: later(from, settled), to }] : [];
  return await added([
    ...(whole === undefined ? [] : [ofDays(pool, accountId, { label, ...whole })]),
    ...[...edges, ...rest].map((edge) => ofRecords(pool, accountId, { ...filter, ...edge })),
  ]);
}

export async function labelledRequests(pool: pg.Pool, accountId: Uuid, { label, from, to }: OfLabel): Promise<number> {
  const end = to && new Date(Math.ceil(to.getTime() / DAY_MS) * DAY_MS);
  return (await ofDays(pool, accountId, { label, from, to: end })).requests;
}

interface OfLabel extends Span {
  label: string;
}

const ofRecords = (pool: pg.Pool, accountId: Uuid, { model, keyIds, outcome, label, from, to }: Filter) =>
  queryOne(
    pool,
    Total,
    `select ${SUMS} from request
      where account_id = $1 and ($2::timestamptz is null or id >= uuid_floor($2))
        and ($3::timestamptz is null or id < uuid_floor($3)) and ${MATCHES}
        and ${label === undefined ? "$7::text is null" : "label = $7"}`,
    [accountId, from ?? null, to ?? null, model ?? null, keyIds ?? null, outcome ?? null, label ?? null],
  );

async function ofHours(pool: pg.Pool, accountId: Uuid, { model, keyIds, outcome, from, to }: Filter) {
  const span = { from: "coalesce($2::timestamptz, '-infinity')", to: "coalesce($3::timestamptz, 'infinity')" };
  return await queryOne(
    pool,
    Total,
    `select ${SUMS} from ${usedIn("own", span, await hasClosedDays(pool))} used where ${MATCHES}`,
    [accountId, from ?? null, to ?? null, model ?? null, keyIds ?? null, outcome ?? null],
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

/** The whole units of a span, where it has any, and what is left of it on both sides. */
function parted({ from, to }: Span, unitMs: number): { whole: Span | undefined; edges: Span[] } {
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
