/** A node's jobs: requests whose last attempt was on it, paid or not, without the builder or the prompt. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { REQUEST_OUTCOMES, type RequestOutcome } from "../base/stored-enumerations.ts";
import { findPerformanceTable } from "../db/closed-days.ts";
import { column, queryRows, row } from "../db/rows.ts";
import {
  buildIdSpanCondition,
  buildOwnerPageSql,
  buildRecordsPageSql,
  MAX_UUID,
  readInGrowingSpans,
} from "./growing-span-reads.ts";

const NodeJob = row({
  id: column.uuid,
  model: z.string().nullable(),
  outcome: z.enum(REQUEST_OUTCOMES),
  promptTokens: column.count,
  completionTokens: column.count,
  queueMs: z.number().nullable(),
  ttftMs: z.number().nullable(),
  durationMs: z.number().nullable(),
  earned: column.pico,
  own: z.boolean(),
  createdAt: column.moment,
  finishedAt: column.moment,
});
export type NodeJob = z.infer<typeof NodeJob>;

interface JobsQuery {
  model?: string | undefined;
  outcome?: RequestOutcome | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  /** The last job of the previous page. */
  before?: Uuid | undefined;
  limit: number;
}

export interface JobHistory {
  /** Newest first. */
  list(nodeId: Uuid, query: JobsQuery): Promise<NodeJob[]>;
}

const COLUMNS = `id, model, outcome, prompt_tokens as "promptTokens", completion_tokens as "completionTokens",
  queue_ms as "queueMs", ttft_ms as "ttftMs", duration_ms as "durationMs", host_pico as earned, own,
  created_at as "createdAt", finished_at as "finishedAt"`;

const PLAIN = buildOwnerPageSql(COLUMNS, "node_id");
/**
 * With a filter (`$6` model, `$7` outcome), the rollup shows the hours with matches, so that records are read only for
 * those. For times before the oldest hourly rows, it shows days. The rollup counts all failures together, so for one
 * kind of failure it only shows where any failure occurred; such a search reads whole days. The last two hours or days
 * are always read, because the rollup lags by a few seconds. `$8`: days to look back.
 */
function filteredText(unit: "hour" | "day", table: string): string {
  const counted =
    "case when $7::text is null then requests when $7 = 'ok' then ok when $7 = 'client_closed' then closed else failed end";
  const within = (
    start: string,
  ): string => `${start} <= uuid_time(least($2::uuid, uuid_floor(now() + interval '1 day')))
       and ($4::timestamptz is null or ${start} > $4::timestamptz - interval '1 day') and ($5::timestamptz is null or ${start} < $5)
       and ($8::int is null
            or ${start} >= least(uuid_time(least($2::uuid, uuid_floor(now()))), $5, now()) - make_interval(days => $8))`;
  return `
  with kept as (
    select ${unit === "hour" ? "date_trunc('day', now() - interval '99 days', 'UTC')" : "timestamptz 'infinity'"} as hours_from,
           date_trunc('${unit}', now(), 'UTC') - interval '1 ${unit}' as last
  ), slots as materialized (
    select slot as start, case grain when 'day' then interval '1 day' else interval '1 hour' end as length,
           ${unit === "hour" ? `sum(${counted})` : "0"} as there
      from ${table}, kept
     where scope = 'node' and subject = $1 and (grain = 'hour' and slot >= hours_from or grain = 'day' and slot < hours_from)
       and slot < last and ($6::text is null or model = $6) and ${within("slot")}
     group by slot, grain having sum(${counted}) > 0
    union all
    select start, interval '1 ${unit}', 0 from kept, generate_series(last, now(), interval '1 ${unit}') as h (start)
     where ${within("start")}
  ), counted as materialized (
    select start, start + length as "end", sum(there) over (order by start desc) - there as newer from slots
  ), needed as materialized (
    -- The newest may lie partly beyond the cursor: its count promises nothing, so the others must do.
    select start, "end" from counted
     where newer <= $3 + coalesce((select newest.newer from counted newest order by start desc offset 1 limit 1), 0)
  )
  ${buildRecordsPageSql(
    COLUMNS,
    `select id from request
      where node_id = $1 and ${buildIdSpanCondition()} and id >= uuid_floor(needed.start) and id < uuid_floor(needed."end")
        and ($6::text is null or model = $6) and ($7::text is null or outcome = $7)
      order by id desc limit $3`,
  )}`;
}
/** The outcomes that the rollup counts separately. Undefined: no filter. */
const COUNTED = new Set<RequestOutcome | undefined>([undefined, "ok", "client_closed"]);

export function createJobHistory({ pool }: { pool: pg.Pool }): JobHistory {
  return {
    async list(nodeId, { model, outcome, from, to, before, limit }) {
      const span = [nodeId, before ?? MAX_UUID, limit, from ?? null, to ?? null];
      if (model === undefined && outcome === undefined) return await queryRows(pool, NodeJob, PLAIN, span);
      const filter = [model ?? null, outcome ?? null];
      const text = filteredText(COUNTED.has(outcome) ? "hour" : "day", await findPerformanceTable(pool));
      return await readInGrowingSpans(limit, (days) => queryRows(pool, NodeJob, text, [...span, ...filter, days]));
    },
  };
}
