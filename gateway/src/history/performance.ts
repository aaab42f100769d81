/**
 * How requests went: counts, percentiles and speed, for an account, a node or the whole platform. Out of rollups
 * (sql/functions/history_roll_up.sql), never by scanning requests; each request is in them a few seconds after it ended.
 * Requests that a limit refused are not among them.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { parseBigints } from "../db/arrays.ts";
import { column, queryRows, row } from "../db/rows.ts";
import { percentile } from "./histogram.ts";

export type Grain = "5min" | "hour" | "day";
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
  scope: "account" | "node" | "platform";
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
const NOBODY = "00000000-0000-0000-0000-000000000000";

export function openPerformance({ pool }: { pool: pg.Pool }): Performance {
  return {
    async sums({ scope, subjects = [NOBODY as Uuid], grain, from, to, by, model, keyId }) {
      const names = ["slot", "subject", "key", "model"] as const;
      const of = names.map((name) => (by.includes(name) ? DIMENSIONS[name] : `null::${TYPES[name]}`));
      const dimensions = of.map((expression, index) => `${expression} as d${index}`).join(", ");
      const same = of.map((_, index) => `h.d${index} is not distinct from s.d${index}`).join(" and ");
      const histogram = (name: string): string =>
        `${name} as (select d0, d1, d2, d3, histogram_merge(array_agg(number)) as numbers
           from chosen, unnest(${name}) as n (number) group by 1, 2, 3, 4)`;
      const rows = await queryRows(
        pool,
        Sum,
        `with chosen as materialized (
           select *, ${dimensions} from performance
            where scope = $1 and subject = any ($2::uuid[]) and grain = $3 and slot >= $4 and slot < $5
              and ($6::text is null or model = $6) and ($7::uuid is null or key_id = $7)
         ), summed as (
           select d0, d1, d2, d3, sum(requests)::float8 as requests, sum(ok)::float8 as ok, sum(closed)::float8 as closed,
                  sum(failed)::float8 as failed, sum(prompt_tokens)::float8 as prompt_tokens,
                  sum(completion_tokens)::float8 as completion_tokens, sum(flow_tokens)::float8 as flow_tokens,
                  sum(flow_ms)::float8 as flow_ms, sum(busy_ms)::float8 as busy_ms
             from chosen group by 1, 2, 3, 4
         ), ${histogram("ttft")}, ${histogram("duration")}
         select d0 as slot, d1 as subject, d2 as key, d3 as model, requests, ok, closed, failed,
                prompt_tokens as "promptTokens", completion_tokens as "completionTokens", flow_tokens as "flowTokens",
                flow_ms as "flowMs", busy_ms as "busyMs",
                coalesce((select numbers from ttft h where ${same}), '{}')::text as ttft,
                coalesce((select numbers from duration h where ${same}), '{}')::text as duration
           from summed s where requests > 0 order by 1, 2, 3, 4`,
        [scope, subjects, grain, from, to, model ?? null, keyId ?? null],
      );
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

const percentiles = (histogram: bigint[]): Percentiles => ({
  p50: percentile(histogram, 0.5),
  p95: percentile(histogram, 0.95),
  p99: percentile(histogram, 0.99),
});
