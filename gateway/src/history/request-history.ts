/** Reads request records, which settlements write in the same transaction. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { ENDPOINTS, FINISH_REASONS, REQUEST_OUTCOMES } from "../base/stored-enumerations.ts";
import { column, queryRow, queryRows, row } from "../db/rows.ts";
import {
  buildIdSpanCondition,
  buildRecordsPageSql,
  MAX_UUID,
  MIN_UUID,
  OLDEST_FIRST_STEPS_DAYS,
  readInGrowingSpans,
} from "./growing-span-reads.ts";
import { openOldestRecordTime } from "./oldest-record-time.ts";
import { countRequestsOverTime, type RequestCountSeries } from "./request-counts-over-time.ts";
import {
  type BindParameter,
  buildRecordConditions,
  buildRollupConditions,
  createParameterBinder,
  MEASURE_SQL,
  needsRecordSearch,
  type RequestFilter,
  usesRollupColumns,
} from "./request-filter.ts";
import { countLabelledRequests, type RequestTotal, sumRequests } from "./request-totals.ts";

const RequestRecord = row({
  id: column.uuid,
  accountId: column.uuid,
  keyId: column.uuid,
  keyName: z.string(),
  endpoint: z.enum(ENDPOINTS),
  model: z.string().nullable(),
  build: z.string().nullable(),
  tokenizer: z.string().nullable(),
  /** Null when the request was refused before the body was read. */
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
  /** The label that the builder gave to the request. */
  label: z.string().nullable(),
  /** The number of requests in the record: one, except for a flood of refusals. */
  count: column.count,
  createdAt: column.moment,
  finishedAt: column.moment,
});
export type RequestRecord = z.infer<typeof RequestRecord>;

interface Page {
  oldestFirst?: boolean | undefined;
  before?: Uuid | undefined;
  /** The last ID that may be on the page. */
  until?: Uuid | undefined;
  limit: number;
}

interface SearchedPage {
  records: RequestRecord[];
  /** The last record that was searched, if the search stopped before the page was full. */
  reached: Uuid | undefined;
}

interface LargestPage {
  by: "cost" | "tokens" | "duration";
  from?: Date | undefined;
  after?: SizeAndId | undefined;
  /** The page ends with this record at the latest, in the list's order. Undefined: only `limit` ends the page. */
  until?: SizeAndId | undefined;
  limit: number;
}

/** The position of a record in a list that is sorted by cost, tokens or duration (`size`). */
interface SizeAndId {
  size: bigint;
  id: Uuid;
}

/** The migration that adds the index of requests by cost. */
const BY_COST_SINCE = 46;
/** The most records that a page without a rollup searches. */
const SEARCHED_MAX = 100_000;
/** The same for a page by cost. It is lower, because records of equal cost are far from each other on the disk. */
const SEARCHED_BY_COST_MAX = 20_000;

export interface RequestHistory {
  /** Whether lists sorted by cost can use the index, whatever their size. */
  sortsByCost(): boolean;
  /** The start of the kept request records. Null: all records were kept. */
  keptFrom(): Promise<Date | null>;
  find(accountId: Uuid, id: Uuid): Promise<RequestRecord | undefined>;
  /** Finds a request of this host: the host was paid for it, or its last attempt was on the host's node. */
  findServed(hostAccountId: Uuid, id: Uuid): Promise<RequestRecord | undefined>;
  /** Lists newest first by default. `before` is the ID of the last record on the previous page. */
  list(accountId: Uuid, page: RequestFilter & Page): Promise<RequestRecord[]>;
  /** Searches the next `recordsMax` records, for filters on columns that no rollup has. */
  search(accountId: Uuid, page: RequestFilter & Page, recordsMax?: number): Promise<SearchedPage>;
  /**
   * Lists by highest cost or duration. `after` is the last record of the previous page. By cost, reads only the page if
   * an index covers the filter. Otherwise reads all records between `from` and `to` (of the filter's label, if it has
   * one), so the caller must limit the span.
   */
  largest(accountId: Uuid, page: RequestFilter & LargestPage): Promise<RequestRecord[]>;
  /**
   * Lists matching requests, highest cost first, for any filter: searches the next `recordsMax` records of the index.
   * `reached` is the last record that was searched, if the page is not full.
   */
  searchByCost(
    accountId: Uuid,
    page: RequestFilter & Omit<LargestPage, "by">,
    recordsMax?: number,
  ): Promise<{ records: RequestRecord[]; reached: SizeAndId | undefined }>;
  /** The number of requests that match a filter, and the sums of their tokens and charges. */
  total(accountId: Uuid, filter: RequestFilter, nowMs: number): Promise<RequestTotal>;
  /** The number of matching requests by time bucket and outcome. */
  counts(
    accountId: Uuid,
    filter: RequestFilter,
    options: { nowMs: number; recordsMax: number },
  ): Promise<RequestCountSeries>;
  /** The number of requests with a label on the days of a span. Requests of the last few seconds may be missing. */
  labelled(accountId: Uuid, label: string, span: Pick<RequestFilter, "from" | "to">): Promise<number>;
  /** Creates the partitions of the coming months. */
  makePartitions(): Promise<void>;
}

const COLUMNS = `id, account_id as "accountId", key_id as "keyId", key_name as "keyName", endpoint, model, build,
  tokenizer, stream, outcome, http_status as "httpStatus", finish_reason as "finishReason",
  prompt_tokens as "promptTokens", completion_tokens as "completionTokens", reasoning_tokens as "reasoningTokens",
  price_version as "priceVersion", hold_pico as hold, charge_pico as charge, host_pico as "hostShare",
  node_id as "nodeId", attempts, queue_ms as "queueMs", ttft_ms as "ttftMs", duration_ms as "durationMs", client, label,
  requests::float8 as count,
  created_at as "createdAt", finished_at as "finishedAt"`;

/**
 * The condition for an account's requests, or those with a label, which have an index of their own. See
 * `buildOwnerPageSql` in `growing-span-reads.ts`.
 */
const owned = (oldestFirst: boolean, label: string | undefined) => {
  const order = oldestFirst ? "asc" : "desc";
  if (label !== undefined) return { own: "account_id = $1", order: `id ${order}` };
  return { own: "account_id = any (array[$1::uuid])", order: `account_id ${order}, id ${order}` };
};

function plainText({ oldestFirst = false, until, ...filter }: RequestFilter & Page, bind: BindParameter): string {
  const { own, order } = owned(oldestFirst, filter.label);
  return `select ${COLUMNS} from request
    where ${own} and ${buildIdSpanCondition(oldestFirst)} and ${buildRollupConditions(filter, bind)} and ${buildRecordConditions(filter, bind)}
      ${until === undefined ? "" : `and id ${oldestFirst ? "<=" : ">="} ${bind(until)}::uuid`}
    order by ${order} limit $3`;
}

/** Finds the ID up to which one step of a search reads: that of the last of the next `$3` records. */
function reachText({ oldestFirst = false, label }: RequestFilter & Page, bind: BindParameter): string {
  const { own, order } = owned(oldestFirst, label);
  return `select id from request where ${own} and ${buildIdSpanCondition(oldestFirst)} and ${buildRecordConditions({ label }, bind)}
    order by ${order} offset $3::int - 1 limit 1`;
}

/**
 * With a filter, the hourly rollup shows which hours contain matching requests and how many, so that only the hours of
 * the page are read. In an hour with summarized refusals, the number of records is unknown, because several refusals
 * share a record. The rollup has no labels: with a label, every hour with requests is looked up in the label's index.
 * `$6`: the number of days to search from the page's start, back or, with `oldestFirst`, ahead; null for all. The
 * rollup is kept longer than records: records start at `$7`, refusals at `$8`.
 */
function filteredText({ oldestFirst = false, ...filter }: RequestFilter & Page, bind: BindParameter): string {
  const labelled = filter.label !== undefined;
  const matches = buildRollupConditions(filter, bind);
  const order = oldestFirst ? "asc" : "desc";
  const beyond = oldestFirst
    ? "hour >= date_trunc('hour', uuid_time($2::uuid))"
    : "hour <= uuid_time(least($2::uuid, uuid_floor(now() + interval '1 day')))";
  const near = oldestFirst
    ? `hour < greatest((select min(first.hour) from usage_hour first where first.account_id = $1), uuid_time($2::uuid), $4, $7)
                               + $6 * interval '1 day'`
    : "hour >= least(uuid_time($2::uuid), $5, now()) - $6 * interval '1 day'";
  const found = (columns: string): string => `
    select ${columns} from request
     where account_id = $1 and ${buildIdSpanCondition(oldestFirst)} and id >= uuid_floor(needed.start) and id < uuid_floor(needed."end")
       and ${matches} and ${buildRecordConditions({ label: filter.label }, bind)}
     order by id ${order} limit least($3, needed.there)`;
  return `
  with hours as materialized (
    select hour, sum(sum(requests - summarised)) over (order by hour ${order}) - sum(requests - summarised) as nearer,
           case when sum(summarised) = 0 then sum(requests) end as there
      from usage_hour
     where account_id = $1 and ${beyond}
       and ($4::timestamptz is null or hour >= date_trunc('hour', $4::timestamptz))
       and ($5::timestamptz is null or hour < $5)
       and ($6::float8 is null or ${near})
       and ($7::timestamptz is null or hour >= $7)
       and ($8::timestamptz is null or hour >= $8 or not starts_with(outcome, 'rate_limit_'))
       and ${matches}
     group by hour
  ), needed as materialized (
    ${labelled ? STRETCHES : enough(order)}
  )
  ${
    labelled
      ? buildRecordsPageSql(COLUMNS, found("id"), order)
      : `select found.* from needed cross join lateral (${found(COLUMNS)}) found order by found.id ${order} limit $3`
  }`;
}

/**
 * Selects as many hours as a page needs. Ignores the first hour's count, because the cursor may be inside that hour.
 */
const enough = (order: "asc" | "desc"): string =>
  `select hour as start, hour + interval '1 hour' as "end", there from hours
     where nearer <= $3 + coalesce((select first.nearer from hours first order by hour ${order} offset 1 limit 1), 0)`;

/**
 * Selects all hours, and joins consecutive ones into ranges, because each range costs as much as another hour or two.
 */
const STRETCHES = `select min(hour) as start, max(hour) + interval '1 hour' as "end", case when count(there) = count(*) then sum(there) end as there
      from (select hour, there, hour - interval '1 hour' * row_number() over (order by hour) as stretch from hours) numbered
     group by stretch`;

const SIZE_MAX = 2n ** 63n - 1n;
const SIZES = {
  cost: MEASURE_SQL.cost,
  tokens: `${MEASURE_SQL.tokens}::bigint`,
  duration: `coalesce(${MEASURE_SQL.duration}, -1)::bigint`,
};

/**
 * `$4`: from. `$5`: to. `$2` and `$6`: the ID and size of the last record. IDs are selected first, because indexes
 * contain every compared value (requests by cost, or requests with a label). So whole records are read only for the
 * page.
 */
const largestText = (
  by: LargestPage["by"],
  { until, ...filter }: RequestFilter & Pick<LargestPage, "until">,
  bind: BindParameter,
): string =>
  `select record.* from (
     select id, ${SIZES[by]} as size from request
      where ${sizedConditions(by, filter, bind)} and ${buildRecordConditions(filter, bind)}
        and ${until === undefined ? "true" : `(${SIZES[by]}, id) >= (${bind(until.size)}::bigint, ${bind(until.id)}::uuid)`}
      order by size desc, id desc limit $3
   ) page cross join lateral (select ${COLUMNS} from request where id = page.id offset 0) record
    order by page.size desc, page.id desc`;

const sizedConditions = (by: LargestPage["by"], filter: RequestFilter, bind: BindParameter): string =>
  `account_id = $1 and id >= coalesce(uuid_floor($4::timestamptz), '${MIN_UUID}') and ($5::timestamptz is null or id < uuid_floor($5))
        and ${buildRollupConditions(filter, bind)}
        and (${SIZES[by]}, id) < (coalesce($6::bigint, ${SIZE_MAX}), $2::uuid)`;

/** Selects the `$3`th record of the index by cost, which contains all compared columns. */
const reachByCostText = (filter: RequestFilter, bind: BindParameter): string =>
  `select id, charge_pico as size from request where ${sizedConditions("cost", filter, bind)}
    order by charge_pico desc, id desc offset $3::int - 1 limit 1`;

const Reached = row({ id: column.uuid });
const ReachedByCost = row({ id: column.uuid, size: column.pico });

const spanOf = (accountId: Uuid, { before, limit, from, to, oldestFirst = false }: RequestFilter & Page): unknown[] => [
  accountId,
  before ?? (oldestFirst ? MIN_UUID : MAX_UUID),
  limit,
  from ?? null,
  to ?? null,
];

const sizedSpanOf = (
  accountId: Uuid,
  { after, limit, from, to }: RequestFilter & Omit<LargestPage, "by">,
): unknown[] => [accountId, after?.id ?? MAX_UUID, limit, from ?? null, to ?? null, after?.size ?? null];

/** `schema`: the number of the database's newest applied migration. Undefined: all migrations are applied. */
export function openRequestHistory(options: {
  pool: pg.Pool;
  schema?: { readonly number: number } | undefined;
}): RequestHistory {
  const { pool, schema } = options;
  const keptFrom = openOldestRecordTime({ pool });
  const list: RequestHistory["list"] = async (accountId, page) => {
    if (!usesRollupColumns(page) || needsRecordSearch(page)) {
      const values = spanOf(accountId, page);
      return await queryRows(pool, RequestRecord, plainText(page, createParameterBinder(values)), values);
    }
    const { requestsFrom, refusalsFrom } = await keptFrom();
    const read = (days: number | null) => {
      const values = [...spanOf(accountId, page), days, requestsFrom, refusalsFrom];
      return queryRows(pool, RequestRecord, filteredText(page, createParameterBinder(values)), values);
    };
    return await readInGrowingSpans(page.limit, read, page.oldestFirst === true ? OLDEST_FIRST_STEPS_DAYS : undefined);
  };
  const largest: RequestHistory["largest"] = async (accountId, { by, ...page }) => {
    const values = sizedSpanOf(accountId, page);
    return await queryRows(pool, RequestRecord, largestText(by, page, createParameterBinder(values)), values);
  };
  return {
    keptFrom: async () => (await keptFrom()).requestsFrom,
    sortsByCost: () => schema === undefined || schema.number >= BY_COST_SINCE,
    find: (accountId, id) =>
      queryRow(pool, RequestRecord, `select ${COLUMNS} from request where id = $1 and account_id = $2`, [
        id,
        accountId,
      ]),
    findServed: (hostAccountId, id) =>
      queryRow(
        pool,
        RequestRecord,
        `select ${COLUMNS} from request r where r.id = $1
            and (r.host_account_id = $2 or exists (select from node n where n.id = r.node_id and n.account_id = $2))`,
        [id, hostAccountId],
      ),
    list,
    async search(accountId, page, recordsMax = SEARCHED_MAX) {
      const values = spanOf(accountId, { ...page, limit: recordsMax });
      const reach = await queryRow(pool, Reached, reachText(page, createParameterBinder(values)), values);
      if (reach === undefined) return { records: await list(accountId, page), reached: undefined };
      const records = await list(accountId, { ...page, until: reach.id });
      return { records, reached: records.length < page.limit ? reach.id : undefined };
    },
    largest,
    async searchByCost(accountId, page, recordsMax = SEARCHED_BY_COST_MAX) {
      const values = sizedSpanOf(accountId, { ...page, limit: recordsMax });
      const reach = await queryRow(pool, ReachedByCost, reachByCostText(page, createParameterBinder(values)), values);
      const records = await largest(accountId, { ...page, by: "cost", until: reach });
      return { records, reached: records.length < page.limit ? reach : undefined };
    },
    counts: (accountId, filter, more) => countRequestsOverTime(pool, accountId, { filter, ...more }),
    total: (accountId, filter, nowMs) => sumRequests(pool, accountId, { filter, nowMs }),
    labelled: (accountId, label, span) => countLabelledRequests(pool, accountId, { label, ...span }),
    async makePartitions() {
      await pool.query("select history_make_partitions(2)");
    },
  };
}
