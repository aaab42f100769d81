/** The record of requests, for reading. Records are written by the settlement, in its transaction. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { ENDPOINTS, FINISH_REASONS, REQUEST_OUTCOMES, type RequestOutcome } from "../base/states.ts";
import { column, queryRow, queryRows, row } from "../db/rows.ts";
import { lookBack } from "./look-back.ts";

const RequestRecord = row({
  id: column.uuid,
  accountId: column.uuid,
  keyId: column.uuid,
  keyName: z.string(),
  endpoint: z.enum(ENDPOINTS),
  model: z.string().nullable(),
  build: z.string().nullable(),
  tokenizer: z.string().nullable(),
  /** Null where it was refused before that was known. */
  stream: z.boolean().nullable(),
  outcome: z.enum(REQUEST_OUTCOMES),
  httpStatus: column.count,
  finishReason: z.enum(FINISH_REASONS).nullable(),
  promptTokens: column.count,
  completionTokens: column.count,
  reasoningTokens: column.count,
  priceVersion: column.count.nullable(),
  hold: column.pico,
  charge: column.pico,
  hostShare: column.pico,
  nodeId: column.uuid.nullable(),
  attempts: column.count,
  queueMs: column.count.nullable(),
  ttftMs: column.count.nullable(),
  durationMs: column.count.nullable(),
  client: z.string(),
  /** How many requests the record stands for: one, but for a flood of refusals. */
  count: column.count,
  createdAt: column.moment,
  finishedAt: column.moment,
});
export type RequestRecord = z.infer<typeof RequestRecord>;

export interface Filter {
  model?: string | undefined;
  keyId?: Uuid | undefined;
  outcome?: RequestOutcome | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

export interface History {
  find(accountId: Uuid, id: Uuid): Promise<RequestRecord | undefined>;
  /** A request that this host served and was paid for. */
  findServed(hostAccountId: Uuid, id: Uuid): Promise<RequestRecord | undefined>;
  /** Newest first; `before` continues a page. */
  list(accountId: Uuid, page: Filter & { before?: Uuid | undefined; limit: number }): Promise<RequestRecord[]>;
  /** Creates the coming months' partitions. */
  makePartitions(): Promise<void>;
}

const COLUMNS = `id, account_id as "accountId", key_id as "keyId", key_name as "keyName", endpoint, model, build,
  tokenizer, stream, outcome, http_status as "httpStatus", finish_reason as "finishReason",
  prompt_tokens as "promptTokens", completion_tokens as "completionTokens", reasoning_tokens as "reasoningTokens",
  price_version as "priceVersion", hold_pico as hold, charge_pico as charge, host_pico as "hostShare",
  node_id as "nodeId", attempts, queue_ms as "queueMs", ttft_ms as "ttftMs", duration_ms as "durationMs", client,
  requests::float8 as count,
  created_at as "createdAt", finished_at as "finishedAt"`;
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** `$1` account, `$2` before, `$3` limit, `$4` from, `$5` to. Ids are time, so a span of time is a range of the index. */
const SPAN = `account_id = $1 and id < $2
  and ($4::timestamptz is null or id >= uuid_floor($4)) and ($5::timestamptz is null or id < uuid_floor($5))`;
const PLAIN = `select ${COLUMNS} from request where ${SPAN} order by id desc limit $3`;
/**
 * With a filter (`$6` model, `$7` key, `$8` outcome) the hourly rollup says in which hours there is anything to find and how
 * much, so that only so many hours are read as the page needs, however rare what is looked for. `$9`: days to look back.
 */
const FILTERED = `
  with hours as materialized (
    select hour, sum(sum(requests - summarised)) over (order by hour desc) - sum(requests - summarised) as newer
      from usage_hour
     where account_id = $1 and hour <= uuid_time(least($2::uuid, uuid_floor(now() + interval '1 day')))
       and ($4::timestamptz is null or hour >= date_trunc('hour', $4::timestamptz))
       and ($5::timestamptz is null or hour < $5)
       and ($9::int is null or hour >= least(uuid_time($2::uuid), $5, now()) - make_interval(days => $9))
       and ($6::text is null or model = $6) and ($7::uuid is null or key_id = $7) and ($8::text is null or outcome = $8)
     group by hour
  ), needed as materialized (
    -- The newest hour may lie partly before the cursor: its count promises nothing, so the others must do.
    select hour from hours
     where newer <= $3 + coalesce((select newest.newer from hours newest order by hour desc offset 1 limit 1), 0)
  )
  select found.* from needed cross join lateral (
    select ${COLUMNS} from request
     where ${SPAN} and id >= uuid_floor(needed.hour) and id < uuid_floor(needed.hour + interval '1 hour')
       and ($6::text is null or model = $6) and ($7::uuid is null or key_id = $7) and ($8::text is null or outcome = $8)
     order by id desc limit $3
  ) found order by found.id desc limit $3`;

export function openHistory(options: { pool: pg.Pool }): History {
  const { pool } = options;
  const findBy = (owned: "account_id" | "host_account_id", owner: Uuid, id: Uuid) =>
    queryRow(pool, RequestRecord, `select ${COLUMNS} from request where id = $1 and ${owned} = $2`, [id, owner]);
  return {
    find: (accountId, id) => findBy("account_id", accountId, id),
    findServed: (hostAccountId, id) => findBy("host_account_id", hostAccountId, id),
    async list(accountId, { before, limit, from, to, model, keyId, outcome }) {
      const span = [accountId, before ?? LAST_ID, limit, from ?? null, to ?? null];
      const filter = [model ?? null, keyId ?? null, outcome ?? null];
      if (filter.every((value) => value === null)) return await queryRows(pool, RequestRecord, PLAIN, span);
      return await lookBack(limit, (days) => queryRows(pool, RequestRecord, FILTERED, [...span, ...filter, days]));
    },
    async makePartitions() {
      await pool.query("select history_make_partitions(2)");
    },
  };
}
