/** What a node worked on, job by job: requests whose last attempt was its own, paid or not. Never who asked, or what. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { REQUEST_OUTCOMES, type RequestOutcome } from "../base/states.ts";
import { column, queryRows, row } from "../db/rows.ts";
import { lookBack } from "./look-back.ts";

const Job = row({
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
export type Job = z.infer<typeof Job>;

interface JobsQuery {
  model?: string | undefined;
  outcome?: RequestOutcome | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  /** Continues a page. */
  before?: Uuid | undefined;
  limit: number;
}

export interface Jobs {
  /** The newest first. */
  list(nodeId: Uuid, query: JobsQuery): Promise<Job[]>;
}

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const COLUMNS = `id, model, outcome, prompt_tokens as "promptTokens", completion_tokens as "completionTokens",
  queue_ms as "queueMs", ttft_ms as "ttftMs", duration_ms as "durationMs", host_pico as earned, own,
  created_at as "createdAt", finished_at as "finishedAt"`;

/** `$1` node, `$2` before, `$3` limit, `$4` from, `$5` to. Ids are time, so a span of time is a range of the index. */
const SPAN = `node_id = $1 and id < $2
  and ($4::timestamptz is null or id >= uuid_floor($4)) and ($5::timestamptz is null or id < uuid_floor($5))`;
const PLAIN = `select ${COLUMNS} from request where ${SPAN} order by id desc limit $3`;
/**
 * With a filter (`$6` model, `$7` outcome) the rollup says on which days there is anything to find, so that the others are not
 * read. The last two days always are: the rollup is a few seconds behind. `$8`: days to look back.
 */
const FILTERED = `
  with days as materialized (
    select slot as day from performance
     where scope = 'node' and subject = $1 and grain = 'day' and ($6::text is null or model = $6)
       and ($7::text is null or case $7 when 'ok' then ok when 'client_closed' then closed else failed end > 0)
    union
    select date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - make_interval(days => ago)
      from generate_series(0, 1) as d (ago)
  ), needed as materialized (
    select day from days
     where day <= uuid_time(least($2::uuid, uuid_floor(now() + interval '1 day')))
       and ($4::timestamptz is null or day > $4::timestamptz - interval '1 day') and ($5::timestamptz is null or day < $5)
       and ($8::int is null or day >= least(uuid_time(least($2::uuid, uuid_floor(now()))), $5, now()) - make_interval(days => $8))
  )
  select found.* from needed cross join lateral (
    select ${COLUMNS} from request
     where ${SPAN} and id >= uuid_floor(needed.day) and id < uuid_floor(needed.day + interval '1 day')
       and ($6::text is null or model = $6) and ($7::text is null or outcome = $7)
     order by id desc limit $3
  ) found order by found.id desc limit $3`;

export function openJobs({ pool }: { pool: pg.Pool }): Jobs {
  return {
    async list(nodeId, { model, outcome, from, to, before, limit }) {
      const span = [nodeId, before ?? LAST_ID, limit, from ?? null, to ?? null];
      if (model === undefined && outcome === undefined) return await queryRows(pool, Job, PLAIN, span);
      const filter = [model ?? null, outcome ?? null];
      return await lookBack(limit, (days) => queryRows(pool, Job, FILTERED, [...span, ...filter, days]));
    },
  };
}
