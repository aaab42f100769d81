/**
 * How requests went: counts, percentiles and speed, for an account, a node or the whole platform. Out of rollups
 * (sql/functions/history_roll_up.sql), never by scanning requests; each request is in them a few seconds after it ended.
 * Requests that a limit refused are not among them.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import type { PERFORMANCE_GRAINS, PERFORMANCE_SCOPES } from "../base/states.ts";
import { parseBigints } from "../db/arrays.ts";
import { column, queryRows, row } from "../db/rows.ts";
import { percentile } from "./histogram.ts";

type Grain = (typeof PERFORMANCE_GRAINS)[number];
const GRAIN_MS: Record<Grain, number> = { "5min": 300_000, hour: 3_600_000, day: 86_400_000 };

/** Spans that are shown: so many slots, the one that is running among them. */
const RANGES = {
  "1h": { grain: "5min", slots: 12 },
  "6h": { grain: "5min", slots: 72 },
  "24h": { grain: "hour", slots: 24 },
  "7d": { grain: "hour", slots: 168 },
  "30d": { grain: "day", slots: 30 },
  "90d": { grain: "day", slots: 90 },
} as const satisfies Record<string, { grain: Grain; slots: number }>;
export type Range = keyof typeof RANGES;

export interface Slots {
  grain: Grain;
  slotMs: number;
  from: Date;
  to: Date;
}

export function slotsOf(range: Range, now: number): Slots {
  const { grain, slots } = RANGES[range];
  const slotMs = GRAIN_MS[grain];
  const to = (Math.floor(now / slotMs) + 1) * slotMs;
  return { grain, slotMs, from: new Date(to - slots * slotMs), to: new Date(to) };
}

interface PerformanceQuery extends Pick<Slots, "grain" | "from" | "to"> {
  scope: (typeof PERFORMANCE_SCOPES)[number];
  /** The account's or the nodes' ids. The platform has none. */
  subjects?: Uuid[];
  /** What the sums are by. Without any there is one sum, or none where there was no request. */
  by: ("slot" | "subject" | "key" | "model")[];
  model?: string | undefined;
  keyId?: Uuid | undefined;
}

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
  ttft: z.string(),
  duration: z.string(),
});

interface Percentiles {
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

/** Of what it is not by, `slot`, `subject`, `key` and `model` are null. */
export interface PerformanceSum extends Omit<z.infer<typeof Sum>, "ttft" | "duration" | "flowTokens" | "flowMs"> {
  /** Of what did not end well, as a share of all but those whose client left. Null of nothing. */
  errorShare: number | null;
  /** In milliseconds, of answers that ended well. */
  ttft: Percentiles;
  duration: Percentiles;
  /** Of output after its first token; null without any. */
  tokensPerSecond: number | null;
}

export interface Performance {
  sums(query: PerformanceQuery): Promise<PerformanceSum[]>;
}

const DIMENSIONS = { slot: "slot", subject: "subject", key: "key_id", model: "model" } as const;
const TYPES = { slot: "timestamptz", subject: "uuid", key: "uuid", model: "text" } as const;
const NAMES = ["slot", "subject", "key", "model"] as const;
const NOBODY = "00000000-0000-0000-0000-000000000000";

export function openPerformance({ pool }: { pool: pg.Pool }): Performance {
  return {
    async sums({ scope, subjects = [NOBODY as Uuid], grain, from, to, by, model, keyId }) {
      const perKey = scope === "account" && (by.includes("key") || keyId !== undefined);
      const rows = await queryRows(pool, Sum, sumsText(by, perKey), [
        scope,
        subjects,
        grain,
        from,
        to,
        model ?? null,
        keyId ?? null,
      ]);
      return rows.map(({ ttft, duration, flowTokens, flowMs, ...sum }) => ({
        ...sum,
        errorShare: sum.ok + sum.failed === 0 ? null : sum.failed / (sum.ok + sum.failed),
        ttft: percentiles(parseBigints(ttft)),
        duration: percentiles(parseBigints(duration)),
        tokensPerSecond: flowMs === 0 ? null : (flowTokens * 1000) / flowMs,
      }));
    },
  };
}

/** Rows of all keys together serve what does not ask for keys: they are fewer by as many keys as there are. */
function sumsText(by: PerformanceQuery["by"], perKey: boolean): string {
  const groups = ["every", ...NAMES.filter((name) => by.includes(name)).map((name) => DIMENSIONS[name])].join(", ");
  const of = NAMES.map((name) => `${by.includes(name) ? DIMENSIONS[name] : `null::${TYPES[name]}`} as "${name}"`);
  const histogram = (name: string): string =>
    `${name}_of as (
       select ${groups}, array_agg((bucket << 40) | count order by bucket)::text as numbers
         from (select ${groups}, number >> 40 as bucket, sum(number & ((1::bigint << 40) - 1))::bigint as count
                 from chosen, unnest(${name}) as n (number) group by ${groups}, bucket) merged
        group by ${groups})`;
  return `
    with chosen as materialized (
      select *, true as every from performance
       where scope = $1 and subject = any ($2::uuid[]) and grain = $3 and slot >= $4 and slot < $5
         and key_id ${perKey ? "<>" : "="} '${NOBODY}' and ($6::text is null or model = $6)
         and ($7::uuid is null or key_id = $7)
    ), summed as (
      select ${groups}, sum(requests)::float8 as requests, sum(ok)::float8 as ok, sum(closed)::float8 as closed,
             sum(failed)::float8 as failed, sum(prompt_tokens)::float8 as "promptTokens",
             sum(completion_tokens)::float8 as "completionTokens", sum(flow_tokens)::float8 as "flowTokens",
             sum(flow_ms)::float8 as "flowMs", sum(busy_ms)::float8 as "busyMs"
        from chosen group by ${groups}
    ), ${histogram("ttft")}, ${histogram("duration")}
    select ${of.join(", ")}, requests, ok, closed, failed, "promptTokens", "completionTokens", "flowTokens", "flowMs",
           "busyMs", coalesce(ttft_of.numbers, '{}') as ttft, coalesce(duration_of.numbers, '{}') as duration
      from summed left join ttft_of using (${groups}) left join duration_of using (${groups})
     where requests > 0 order by 1, 2, 3, 4`;
}

const percentiles = (histogram: bigint[]): Percentiles => ({
  p50: percentile(histogram, 0.5),
  p95: percentile(histogram, 0.95),
  p99: percentile(histogram, 0.99),
});
