/**
 * A builder account's statement, newest first. By line: every ledger entry with its reason. By day: one row for each
 * day's usage and one for each transfer.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { BUILDER_ENTRY_KINDS, TRANSFER_KINDS } from "../base/stored-enumerations.ts";
import { DAY_MS } from "../base/time.ts";
import { hasClosedDays, usageRowsSql } from "../db/closed-days.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";
import { buildLedgerViewsClause } from "./sql-views.ts";

const StatementLine = row({
  /** The line's position, which increases with time. Also the cursor of a page. */
  id: z.string(),
  kind: z.enum(BUILDER_ENTRY_KINDS),
  amount: column.pico,
  /** The source of the line: a request, a transfer, or all requests of a dropped month. */
  of: z.enum(["request", "transfer", "closing"]),
  operation: column.uuid,
  /** The reason of a transfer, otherwise null. */
  reason: z.string().nullable(),
  at: column.moment,
});
export type StatementLine = z.infer<typeof StatementLine>;

const StatementRow = row({
  /** The row's position as sortable text. Also the cursor of a page. */
  place: z.string(),
  kind: z.enum(["usage", ...TRANSFER_KINDS]),
  /**
   * Set in usage rows only, like the next two fields. The three fields after the balance are set in transfer rows only.
   */
  day: z.string().nullable(),
  requests: column.count.nullable(),
  promptTokens: column.count.nullable(),
  completionTokens: column.count.nullable(),
  amount: column.pico,
  /** The balance after this row, including everything older. */
  balance: column.pico,
  transferId: column.uuid.nullable(),
  reason: z.string().nullable(),
  at: column.moment.nullable(),
});
export type StatementRow = z.infer<typeof StatementRow>;

/**
 * SQL for the statement by day. Usage rows come from the rollups, which a settlement changes together with the balance:
 * a request counts on the day when it was made, whenever it was settled. A day's usage sorts after its transfers and
 * before those of the next midnight. Balances are computed backwards from the account's current balance, so a page
 * reads only its own days and newer rows. `$1`: account. `$2`: cursor. `$3`: limit. `$4`: end of the newest day. `$5`:
 * start of the oldest day.
 */
function byDayText(hasDays: boolean): string {
  const [from, to] = ["coalesce($5::timestamptz, '-infinity')", "coalesce($4::timestamptz, 'infinity')"];
  return `with used as (
    select date_trunc('day', hour at time zone 'UTC') as day, sum(requests)::float8 as requests,
           sum(prompt_tokens)::float8 as prompt, sum(completion_tokens)::float8 as completion, -sum(charge_pico) as amount
      from ${usageRowsSql("own", { from, to }, hasDays)} hours group by 1
  ), transferred as materialized (
    select lpad((extract(epoch from e.at) * 1000000)::bigint::text, 18, '0') || '1' || t.id as place,
           e.kind, e.amount, e.operation, t.reason, e.at
      from ledger_entry e join transfer t on t.id = e.operation
     where e.account_id = $1 and e.kind not in ('charge', 'share', 'fee')
  ), moved as (
    select lpad((extract(epoch from (day + interval '24 hours') at time zone 'UTC') * 1000000)::bigint::text, 18, '0')
             || '0' as place,
           'usage' as kind, to_char(day, 'YYYY-MM-DD') as day, requests, prompt, completion, amount,
           null::uuid as transfer, null as reason, null::timestamptz as at
      from used
    union all
    select place, kind, null, null, null, null, amount, operation, reason, at
      from transferred where $2::text is null or place collate "C" < $2
  ), newest as (
    select balance + (select coalesce(sum(charge_pico), 0)
                        from ${usageRowsSql("own", { from: "$4::timestamptz", to: "timestamptz 'infinity'" }, hasDays)} newer)
             - (select coalesce(sum(amount), 0) from transferred where place collate "C" >= $2) as balance
      from ledger_account where id = $1
  )
  select place, kind, day, requests, prompt as "promptTokens", completion as "completionTokens", amount,
         newest.balance + amount - sum(amount) over (order by place collate "C" desc rows unbounded preceding) as balance,
         transfer as "transferId", reason, at
    from moved, newest order by place collate "C" desc limit $3`;
}

/**
 * Finds the start of the oldest day on a page of `$3` days, the newest of which ends at `$2` or earlier. Each day takes
 * one index lookup. This is a separate query: inside the statement's query, PostgreSQL's planner would read the rows in
 * the table's physical order instead of using the index.
 */
const OLDEST_DAY = `with recursive used as (
    (select date_trunc('day', hour at time zone 'UTC') as day, 1 as place from usage_hour
      where account_id = $1 and ($2::timestamptz is null or hour < $2) order by hour desc limit 1)
    union all
    select older.day, used.place + 1 from used, lateral (
      select date_trunc('day', hour at time zone 'UTC') as day from usage_hour
       where account_id = $1 and hour < used.day at time zone 'UTC' order by hour desc limit 1) older
     where used.place < $3
  )
  select min(day) at time zone 'UTC' as day from used`;
const OldestDay = row({ day: column.moment.nullable() });

/** The end of the newest day to read for a page after the cursor. A day's usage sorts at the end of that day. */
function endOfDayAfter(place: string): Date {
  const standsMs = Math.floor(Number(place.slice(0, 18)) / 1000);
  const isUsage = place[18] === "0";
  return new Date(Math.floor(standsMs / DAY_MS) * DAY_MS - (isUsage ? DAY_MS : 0));
}

/**
 * SQL for the statement with one row per ledger entry. Charges and other entries are read by two subqueries, each
 * newest first, because the planner would sort all of the account's entries if one query read both. `$1`: account.
 * `$2`: cursor. `$3`: limit.
 */
function linesText(books: string): string {
  const charges =
    books === ""
      ? `select id as position, 'charge' as kind, -charge_pico::numeric as amount, 'request' as "of", id as operation,
                account_id, finished_at as at from request where charge_pico > 0`
      : "select * from ledger_entry where \"of\" = 'request'";
  // Compares the account with a one-element array and sorts by it first, so that only the index on (account, id) fits.
  // Otherwise the planner may scan all accounts' records by ID.
  const newest = (from: string, also: string): string => `
    (select e.position, e.kind, e.amount, e.of, e.operation, e.at from ${from} e
      where e.account_id = any (array[$1::uuid]) and ${also} and ($2::uuid is null or e.position < $2)
      order by e.account_id desc, e.position desc limit $3)`;
  return `${books}select e.position::text as id, e.kind, e.amount, e.of, e.operation, t.reason, e.at
    from (${newest(`(${charges})`, "true")} union all ${newest("ledger_entry", "e.of <> 'request'")}) e
    left join transfer t on t.id = e.operation
   order by e.position desc limit $3`;
}

export interface StatementReader {
  lines(accountId: Uuid, page: { before?: string | undefined; limit: number }): Promise<StatementLine[]>;
  /** Without a page, returns the whole statement, read in one snapshot. */
  byDay(accountId: Uuid, page?: { before: string | undefined; limit: number | undefined }): Promise<StatementRow[]>;
}

export function openAccountStatement({ pool }: { pool: pg.Pool }): StatementReader {
  return {
    lines: async (accountId, { before, limit }) =>
      queryRows(pool, StatementLine, linesText(await buildLedgerViewsClause(pool)), [accountId, before ?? null, limit]),
    async byDay(accountId, { before, limit } = { before: undefined, limit: undefined }) {
      const end = before === undefined ? null : endOfDayAfter(before);
      const oldest =
        limit === undefined ? null : (await queryOne(pool, OldestDay, OLDEST_DAY, [accountId, end, limit])).day;
      const text = byDayText(await hasClosedDays(pool));
      return await queryRows(pool, StatementRow, text, [accountId, before ?? null, limit ?? null, end, oldest]);
    },
  };
}
