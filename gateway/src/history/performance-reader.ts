/**
 * Counts, percentiles and speeds for an account, a node or the platform, from rollups
 * (sql/functions/history_roll_up.sql), a few seconds after each request. Refused requests are not included.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import type { PERFORMANCE_GRAINS, PERFORMANCE_SCOPES } from "../base/stored-enumerations.ts";
import { DAY_MS, HOUR_MS, startOfDay } from "../base/time.ts";
import { findPerformanceTable, hasClosedDays, hasPerformanceDayTable, splitByClosedDays } from "../db/closed-days.ts";
import { column, queryRows, row } from "../db/rows.ts";
import {
  computePercentiles,
  type DurationHistogram,
  joinHistograms,
  joinPackedHistograms,
} from "./duration-histogram.ts";

type Grain = (typeof PERFORMANCE_GRAINS)[number];
const GRAIN_MS: Record<Grain, number> = { "5min": 300_000, hour: HOUR_MS, day: DAY_MS };

/** The number of time slots of each range, including the current one. A week is seven UTC days, as in sums of usage. */
const RANGES = {
  "1h": { grain: "5min", slots: 12 },
  "6h": { grain: "5min", slots: 72 },
  "24h": { grain: "hour", slots: 24 },
  "7d": { grain: "hour", slots: 7 * 24 },
  "30d": { grain: "day", slots: 30 },
  "90d": { grain: "day", slots: 90 },
} as const satisfies Record<string, { grain: Grain; slots: number }>;
export type PerformanceRange = keyof typeof RANGES;

export interface TimeSlots {
  grain: Grain;
  slotMs: number;
  from: Date;
  to: Date;
}

/** The time slots of a range that ends now or at `end` (exclusive). */
export function computeTimeSlots(range: PerformanceRange, clock: number, end?: Date): TimeSlots {
  const { grain, slots } = RANGES[range];
  const now = end === undefined ? clock : Math.min(clock, end.getTime() - 1);
  const slotMs = GRAIN_MS[grain];
  const to = (Math.floor(now / slotMs) + 1) * slotMs;
  if (range === "7d")
    return { grain, slotMs, from: new Date(startOfDay(now).getTime() - 6 * DAY_MS), to: new Date(to) };
  return { grain, slotMs, from: new Date(to - slots * slotMs), to: new Date(to) };
}

interface PerformanceQuery extends Pick<TimeSlots, "grain" | "from" | "to"> {
  scope: (typeof PERFORMANCE_SCOPES)[number];
  /** The IDs of accounts or nodes. Absent: the whole platform. */
  subjects?: Uuid[];
  model?: string | undefined;
  /** Requests with any of these keys. */
  keyIds?: Uuid[] | undefined;
  /** Keys that are summed as one key, under the ID of the first. */
  asOne?: Uuid[];
  /**
   * The measures whose percentiles are needed; both by default. Histograms are most of the data, so unneeded ones are
   * not read.
   */
  percentilesOf?: readonly Measured[];
}

const MEASURED = ["ttft", "duration"] as const;
type Measured = (typeof MEASURED)[number];

/** The grouping of sums. Empty: a single total, or no sum if there are no requests. */
type By = ("slot" | "subject" | "key" | "model")[];

const Sum = row({
  slot: column.moment.nullable(),
  subject: column.uuid.nullable(),
  key: column.uuid.nullable(),
  model: z.string().nullable(),
  requests: column.count,
  ok: column.count,
  closed: column.count,
  failed: column.count,
  promptTokens: column.count,
  completionTokens: column.count,
  flowTokens: column.count,
  flowMs: column.count,
  busyMs: column.count,
  ttft: column.bytes,
  duration: column.bytes,
  /** Whether the histograms are in the packed form of closed days. */
  packed: z.boolean(),
});

interface Percentiles {
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

/** A sum. `slot`, `subject`, `key` and `model` are null when the sum is not grouped by them. */
export interface PerformanceSum
  extends Omit<z.infer<typeof Sum>, "ttft" | "duration" | "packed" | "flowTokens" | "flowMs"> {
  /** Failed requests as a share of all requests except client disconnects. Null without requests. */
  errorShare: number | null;
  /** In milliseconds, over successful answers. Null when not requested. */
  ttft: Percentiles;
  duration: Percentiles;
  /** The speed after the first token. Null without output. */
  tokensPerSecond: number | null;
}

export interface PerformanceReader {
  sums(query: PerformanceQuery & { by: By }): Promise<PerformanceSum[]>;
  /** Groups the same rows in several ways, but reads them only once. */
  each<Name extends string>(query: PerformanceQuery, by: Record<Name, By>): Promise<Record<Name, PerformanceSum[]>>;
}

const DIMENSIONS = { slot: "slot", subject: "subject", key: "key_id", model: "model" } as const;
const TYPES = { slot: "timestamptz", subject: "uuid", key: "uuid", model: "text" } as const;
const NAMES = ["slot", "subject", "key", "model"] as const;
/** A longer span consists mostly of closed days (finished daily rollups). */
const LONG_MS = 3 * GRAIN_MS.day;
const NOBODY = "00000000-0000-0000-0000-000000000000";

export function openPerformanceReader({ pool }: { pool: pg.Pool }): PerformanceReader {
  const read = async (
    {
      scope,
      subjects = [NOBODY as Uuid],
      grain,
      from,
      to,
      model,
      keyIds,
      asOne = [],
      percentilesOf = MEASURED,
    }: PerformanceQuery,
    by: By,
  ) => {
    const perKey = scope === "account" && (by.includes("key") || keyIds !== undefined);
    const spans = by.includes("slot") ? [{ grain, from, to }] : coarsest({ grain, from, to });
    const isByModel = by.includes("model") || model !== undefined;
    const [table, isClosed] = await Promise.all([
      findPerformanceTable(pool),
      grain !== "5min" && (isByModel ? hasPerformanceDayTable : hasClosedDays)(pool),
    ]);
    const readings = spans.map((span) => {
      const values = [scope, subjects, span.grain, span.from, span.to, model ?? null, keyIds ?? null];
      // For closed days (finished daily rollups), hourly rows exist only for all models and all keys together.
      const text = isClosed && (span.grain === "day" || !(isByModel || perKey)) ? closedSumsText : sumsText;
      return queryRows(pool, Sum, text({ by, perKey, isByModel, percentilesOf, table }), values);
    });
    const parts = (await Promise.all(readings)).flat().map(partOf);
    const [first, ...others] = asOne;
    if (first === undefined) return parts;
    const same = new Set(others);
    return parts.map((part) => (part.key !== null && same.has(part.key) ? { ...part, key: first } : part));
  };
  const each: PerformanceReader["each"] = async <Name extends string>(
    query: PerformanceQuery,
    by: Record<Name, By>,
  ) => {
    const asked = Object.entries(by) as [Name, By][];
    // Groupings by key are read separately, because other groupings can use rows of all keys together. In long spans
    // groupings by model are separate too, because other groupings can use the closed days' rows of all models
    // together.
    const isLong = query.grain === "hour" && query.to.getTime() - query.from.getTime() > LONG_MS;
    const apart = (one: By): string => `${one.includes("key")} ${isLong && one.includes("model")}`;
    const readings = [...Map.groupBy(asked, ([, one]) => apart(one)).values()];
    const sums = readings.map(async (reading) => {
      const parts = await read(query, [...new Set(reading.flatMap(([, one]) => one))]);
      return reading.map(([name, one]) => [name, gathered(parts, one).map(figuresOf)] as const);
    });
    return Object.fromEntries((await Promise.all(sums)).flat()) as Record<Name, PerformanceSum[]>;
  };
  return { each, sums: async ({ by, ...query }) => (await each(query, { by })).by };
}

type Span = Pick<TimeSlots, "grain" | "from" | "to">;

/**
 * Splits the span so that whole UTC days are read instead of their hours: a week by the hour becomes six days and some
 * hours.
 */
function coarsest(span: Span): Span[] {
  if (span.grain !== "hour") return [span];
  const first = new Date(Math.ceil(span.from.getTime() / GRAIN_MS.day) * GRAIN_MS.day);
  const last = new Date(Math.floor(span.to.getTime() / GRAIN_MS.day) * GRAIN_MS.day);
  if (first >= last) return [span];
  const parts: Span[] = [
    { grain: "hour", from: span.from, to: first },
    { grain: "day", from: first, to: last },
    { grain: "hour", from: last, to: span.to },
  ];
  return parts.filter(({ from, to }) => from < to);
}

interface Reading {
  by: By;
  /** Whether to read rows of single keys instead of rows of all keys together. */
  perKey: boolean;
  isByModel: boolean;
  percentilesOf: readonly Measured[];
  /** `performance`, or the view of it that also contains parts that are not merged yet. */
  table: string;
}

/**
 * Returns histograms unmerged, because merging them in the database costs ten times as much as reading them. Without
 * grouping by key, reads the rows of all keys together, which are fewer.
 */
function sumsText({ perKey, table, ...sums }: Reading): string {
  return summed(
    sums,
    "array_send",
    `${table} where ${among("grain = $3 and slot >= $4 and slot < $5", perKey)} and ${OF_MODEL}`,
  );
}

/**
 * Like `sumsText`, but reads closed days from tables that store one row of all models together and one of each model.
 * Their histograms are sent as they are stored.
 */
function closedSumsText({ perKey, isByModel, table, ...sums }: Reading): string {
  const open = among("grain = $3 and slot >= open.begins and slot < open.ends", perKey);
  const whole = isByModel
    ? `performance_day where ${among("slot = whole.begins", perKey)} and ${OF_MODEL}`
    : `performance_all where ${among("grain = $3 and slot >= whole.begins and slot < whole.ends", perKey)}`;
  return `with ${splitByClosedDays("performance", "$4::timestamptz", "$5::timestamptz")}
    ${summed(sums, "array_send", `open cross join lateral (select * from ${table} where ${open} and ${OF_MODEL} offset 0) p`)}
    union all
    ${summed(sums, "", `whole cross join lateral (select * from ${whole} offset 0) p`)}`;
}

const OF_MODEL = "($6::text is null or model = $6)";
const among = (slots: string, perKey: boolean): string =>
  `scope = $1 and subject = any ($2::uuid[]) and ${slots} and key_id ${perKey ? "<>" : "="} '${NOBODY}'
       and ($7::uuid[] is null or key_id = any ($7))`;

/** `form`: the SQL function that converts a stored histogram to bytes. */
function summed({ by, percentilesOf }: Pick<Reading, "by" | "percentilesOf">, form: string, from: string): string {
  const groups = NAMES.filter((name) => by.includes(name)).map((name) => DIMENSIONS[name]);
  const of = NAMES.map((name) => `${by.includes(name) ? DIMENSIONS[name] : `null::${TYPES[name]}`} as "${name}"`);
  const histogram = (name: Measured): string => {
    if (!percentilesOf.includes(name)) return `''::bytea as ${name}`;
    const isEmpty = `${name} = '${form === "" ? "" : "{}"}'`;
    return `coalesce(string_agg(${form}(${name}), '') filter (where not ${isEmpty}), '') as ${name}`;
  };
  return `
    select ${of.join(", ")}, sum(requests)::float8 as requests, sum(ok)::float8 as ok, sum(closed)::float8 as closed,
           sum(failed)::float8 as failed, sum(prompt_tokens)::float8 as "promptTokens",
           sum(completion_tokens)::float8 as "completionTokens", sum(flow_tokens)::float8 as "flowTokens",
           sum(flow_ms)::float8 as "flowMs", sum(busy_ms)::float8 as "busyMs", ${histogram("ttft")}, ${histogram("duration")},
           ${form === ""} as packed
      from ${from}
     group by ${groups.length === 0 ? "()" : groups.join(", ")} having sum(requests) > 0`;
}

/** The counts and unmerged histograms of some requests. */
interface Part extends Omit<z.infer<typeof Sum>, "ttft" | "duration" | "packed"> {
  ttft: DurationHistogram[];
  duration: DurationHistogram[];
}

function partOf({ ttft, duration, packed, ...counts }: z.infer<typeof Sum>): Part {
  const read = packed ? joinPackedHistograms : joinHistograms;
  return { ...counts, ttft: [read(ttft)], duration: [read(duration)] };
}

const COUNTS = [
  "requests",
  "ok",
  "closed",
  "failed",
  "promptTokens",
  "completionTokens",
  "flowTokens",
  "flowMs",
  "busyMs",
] as const;

/** Merges the parts of each group (those with equal values of `by`), and sorts the groups by these values. */
function gathered(parts: Part[], by: By): Part[] {
  const groups = Map.groupBy(parts, (part) => by.map((name) => String(part[name]?.valueOf())).join(" "));
  return [...groups.values()].map((group) => sumOf(group, by)).sort(inOrder);
}

function sumOf(group: Part[], by: By): Part {
  const [first] = group as [Part];
  const named = Object.fromEntries(NAMES.map((name) => [name, by.includes(name) ? first[name] : null]));
  const counts = Object.fromEntries(COUNTS.map((name) => [name, group.reduce((sum, part) => sum + part[name], 0)]));
  const together = {
    ttft: group.flatMap(({ ttft }) => ttft),
    duration: group.flatMap(({ duration }) => duration),
  };
  return { ...first, ...named, ...counts, ...together };
}

function inOrder(a: Part, b: Part): number {
  for (const name of NAMES) {
    const [left, right] = [a[name], b[name]];
    if (left === null || right === null || left.valueOf() === right.valueOf()) continue;
    return left < right ? -1 : 1;
  }
  return 0;
}

const SHARES = [0.5, 0.95, 0.99] as const;

function figuresOf({ ttft, duration, flowTokens, flowMs, ...sum }: Part): PerformanceSum {
  const percentilesOf = (histograms: DurationHistogram[]): Percentiles => {
    const [p50 = null, p95 = null, p99 = null] = computePercentiles(histograms, SHARES);
    return { p50, p95, p99 };
  };
  return {
    ...sum,
    errorShare: sum.ok + sum.failed === 0 ? null : sum.failed / (sum.ok + sum.failed),
    ttft: percentilesOf(ttft),
    duration: percentilesOf(duration),
    tokensPerSecond: flowMs === 0 ? null : (flowTokens * 1000) / flowMs,
  };
}
