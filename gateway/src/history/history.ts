/** The record of requests, for reading. Records are written by the settlement, in its transaction. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import { lookBack } from "./look-back.ts";

export interface RequestRecord {
  id: Uuid;
  accountId: Uuid;
  keyId: Uuid;
  keyName: string;
  endpoint: string;
  model: string | null;
  build: string | null;
  tokenizer: string | null;
  /** Null where it was refused before that was known. */
  stream: boolean | null;
  outcome: string;
  httpStatus: number;
  finishReason: "stop" | "length" | null;
  promptTokens: number;
  completionTokens: number;
  reasoningTokens: number;
  priceVersion: number | null;
  hold: Pico;
  charge: Pico;
  hostShare: Pico;
  nodeId: Uuid | null;
  attempts: number;
  queueMs: number | null;
  ttftMs: number | null;
  durationMs: number | null;
  client: string;
  /** How many requests the record stands for: one, but for a flood of refusals. */
  count: number;
  createdAt: Date;
  finishedAt: Date;
}

export interface Filter {
  model?: string | undefined;
  keyId?: Uuid | undefined;
  outcome?: string | undefined;
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
  const findBy = async (column: "account_id" | "host_account_id", owner: Uuid, id: Uuid) => {
    const { rows } = await pool.query(`select ${COLUMNS} from request where id = $1 and ${column} = $2`, [id, owner]);
    return rows[0] === undefined ? undefined : toRecord(rows[0]);
  };
  return {
    find: (accountId, id) => findBy("account_id", accountId, id),
    findServed: (hostAccountId, id) => findBy("host_account_id", hostAccountId, id),
    async list(accountId, { before, limit, from, to, model, keyId, outcome }) {
      const span = [accountId, before ?? LAST_ID, limit, from ?? null, to ?? null];
      const filter = [model ?? null, keyId ?? null, outcome ?? null];
      if (filter.every((value) => value === null)) return (await pool.query(PLAIN, span)).rows.map(toRecord);
      const read = async (days: number | null) => (await pool.query(FILTERED, [...span, ...filter, days])).rows;
      return (await lookBack(limit, read)).map(toRecord);
    },
    async makePartitions() {
      await pool.query("select history_make_partitions(2)");
    },
  };
}

function toRecord(row: Record<string, unknown>): RequestRecord {
  const money = (name: string): Pico => pico(BigInt(row[name] as string));
  return { ...row, hold: money("hold"), charge: money("charge"), hostShare: money("hostShare") } as RequestRecord;
}
