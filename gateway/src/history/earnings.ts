/** Hosts' earnings: sums from the hourly rollup, single requests from the records. */
import type { EARNINGS_GROUPINGS, EARNINGS_SPLIT_FIELDS } from "@tollgate/api/console/earnings.ts";
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { type Pico, ZERO } from "../base/money.ts";
import { REQUEST_OUTCOMES } from "../base/stored-enumerations.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";
import { buildIdSpanCondition, buildOwnerPageSql, MAX_UUID, readInGrowingSpans } from "./growing-span-reads.ts";
import { type HourlySum, readHourlySums } from "./hourly-sums.ts";

const EarningLine = row({
  id: column.uuid,
  nodeId: column.uuid.nullable(),
  model: z.string().nullable(),
  outcome: z.enum(REQUEST_OUTCOMES),
  promptTokens: column.count,
  completionTokens: column.count,
  earned: column.pico,
  /** Whether the builder's account has the same owner as the host's. */
  own: z.boolean(),
  finishedAt: column.moment,
});
export type EarningLine = z.infer<typeof EarningLine>;

const EarningSum = row({
  requests: column.count,
  promptTokens: column.count,
  completionTokens: column.count,
  earned: column.pico,
});
type EarningSum = z.infer<typeof EarningSum>;

const Own = row({ own: column.pico });

export interface EarningHourlySum extends HourlySum {
  /** The part that was paid by accounts of the host's own owners. */
  own: Pico;
}

interface Span {
  nodeId?: Uuid | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

interface EarningSumsQuery {
  by: (typeof EARNINGS_GROUPINGS)[number];
  /** Splits every sum further, for stacked charts. */
  split?: (typeof EARNINGS_SPLIT_FIELDS)[number] | undefined;
  nodeId?: Uuid | undefined;
  from: Date;
  to: Date;
}

export interface EarningsHistory {
  /** The paid requests, newest first. `before` is the last request of the previous page. */
  lines(hostAccountId: Uuid, span: Span & { before?: Uuid | undefined; limit: number }): Promise<EarningLine[]>;
  /** The part of all earnings that was paid by accounts of the host's own owners. */
  own(hostAccountId: Uuid): Promise<Pico>;
  /** The total of the whole hours that begin within the span. */
  sum(hostAccountId: Uuid, span: Span): Promise<EarningSum>;
  /** Sums of whole hours, in the order of the buckets. */
  sums(hostAccountId: Uuid, query: EarningSumsQuery): Promise<EarningHourlySum[]>;
}

const COLUMNS = `id, node_id as "nodeId", model, outcome, prompt_tokens as "promptTokens",
  completion_tokens as "completionTokens", host_pico as earned, own, finished_at as "finishedAt"`;

const ALL_NODES = buildOwnerPageSql(COLUMNS, "host_account_id");
/**
 * For one node (`$6`): the hourly rollup shows the hours with earnings, so that records are read only for the hours of
 * the page. `$7`: days to look back.
 */
const ONE_NODE = `
  with hours as materialized (
    select hour, sum(sum(requests)) over (order by hour desc) - sum(requests) as newer
      from earning_hour
     where host_account_id = $1 and node_id = $6
       and hour <= uuid_time(least($2::uuid, uuid_floor(now() + interval '1 day')))
       and ($4::timestamptz is null or hour >= date_trunc('hour', $4::timestamptz))
       and ($5::timestamptz is null or hour < $5)
       and ($7::int is null or hour >= least(uuid_time($2::uuid), $5, now()) - make_interval(days => $7))
     group by hour
  ), needed as materialized (
    -- The newest hour may lie partly before the cursor: its count promises nothing, so the others must do.
    select hour from hours
     where newer <= $3 + coalesce((select newest.newer from hours newest order by hour desc offset 1 limit 1), 0)
  )
  select found.* from needed cross join lateral (
    select ${COLUMNS} from request
     where host_account_id = $1 and ${buildIdSpanCondition()} and id >= uuid_floor(needed.hour) and id < uuid_floor(needed.hour + interval '1 hour') and node_id = $6
     order by id desc limit $3
  ) found order by found.id desc limit $3`;

export function openEarningsHistory({ pool }: { pool: pg.Pool }): EarningsHistory {
  return {
    async lines(hostAccountId, { nodeId, from, to, before, limit }) {
      const span = [hostAccountId, before ?? MAX_UUID, limit, from ?? null, to ?? null];
      if (nodeId === undefined) return await queryRows(pool, EarningLine, ALL_NODES, span);
      return await readInGrowingSpans(limit, (days) => queryRows(pool, EarningLine, ONE_NODE, [...span, nodeId, days]));
    },
    async own(hostAccountId) {
      const text =
        "select coalesce(sum(own_pico), 0) as own from earning_hour where host_account_id = $1 and own_pico > 0";
      return (await queryOne(pool, Own, text, [hostAccountId])).own;
    },
    sum: (hostAccountId, { nodeId, from, to }) =>
      queryOne(
        pool,
        EarningSum,
        `select coalesce(sum(requests), 0)::float8 as requests, coalesce(sum(prompt_tokens), 0)::float8 as "promptTokens",
                coalesce(sum(completion_tokens), 0)::float8 as "completionTokens", coalesce(sum(host_pico), 0) as earned
           from earning_hour
          where host_account_id = $1 and ($2::timestamptz is null or hour >= $2) and ($3::timestamptz is null or hour < $3)
            and ($4::uuid is null or node_id = $4)`,
        [hostAccountId, from ?? null, to ?? null, nodeId ?? null],
      ),
    async sums(hostAccountId, query) {
      const sums = await readHourlySums(pool, "earnings", hostAccountId, query);
      return sums.map((sum) => ({ ...sum, own: sum.own ?? ZERO }));
    },
  };
}
