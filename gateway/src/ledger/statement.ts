/**
 * A builder account's statement, newest first: by line, every entry of the ledger that is its own with what it was for; and by
 * day, one row for the usage of each day and one for each transfer.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { BUILDER_ENTRY_KINDS, TRANSFER_KINDS } from "../base/states.ts";
import { column, queryRows, row } from "../db/rows.ts";

const StatementLine = row({
  /** Grows with time; the position of a page. */
  id: z.string(),
  kind: z.enum(BUILDER_ENTRY_KINDS),
  amount: column.pico,
  /** What moved it: a request, a transfer, or all requests of a month whose records are kept no longer. */
  of: z.enum(["request", "transfer", "closing"]),
  operation: column.uuid,
  /** Why a transfer was made; else null. */
  reason: z.string().nullable(),
  at: column.moment,
});
export type StatementLine = z.infer<typeof StatementLine>;

const StatementRow = row({
  /** The position of a page; text that sorts. */
  place: z.string(),
  kind: z.enum(["usage", ...TRANSFER_KINDS]),
  /** The next three are of usage, the three after the balance of a transfer; else they are null. */
  day: z.string().nullable(),
  requests: column.count.nullable(),
  promptTokens: column.count.nullable(),
  completionTokens: column.count.nullable(),
  amount: column.pico,
  /** With this row and everything older. */
  balance: column.pico,
  transferId: column.uuid.nullable(),
  reason: z.string().nullable(),
  at: column.moment.nullable(),
});
export type StatementRow = z.infer<typeof StatementRow>;

/**
 * Days are of the rollups, which a settlement changes with the balance: a request counts to the day it was made on, whenever it
 * was settled. A day's usage comes after its transfers, and before one of the next midnight. So the newest row's balance is the
 * account's, to the picodollar, and every row's is the one's before it and its own amount.
 */
const BY_DAY = `with moved as (
    select (day + interval '24 hours') at time zone 'UTC' as stands, 0 as rank, ''::text as id, 'usage' as kind,
           to_char(day, 'YYYY-MM-DD') as day, sum(requests)::float8 as requests, sum(prompt_tokens)::float8 as prompt,
           sum(completion_tokens)::float8 as completion, -sum(charge_pico) as amount, null::uuid as transfer,
           null as reason, null::timestamptz as at
      from (select date_trunc('day', hour at time zone 'UTC') as day, requests, prompt_tokens, completion_tokens, charge_pico
              from usage_hour where account_id = $1) used
     group by used.day
    union all
    select e.at, 1, e.position::text, e.kind, null, null, null, null, e.amount, e.operation, t.reason, e.at
      from ledger_entry e join transfer t on t.id = e.operation
     where e.account_id = $1 and e.kind not in ('charge', 'share', 'fee')
  ), summed as (
    select *, sum(amount) over (order by stands, rank, id rows unbounded preceding) as balance,
           lpad((extract(epoch from stands) * 1000000)::bigint::text, 18, '0') || rank || id as place
      from moved
  )
  select place, kind, day, requests, prompt as "promptTokens", completion as "completionTokens", amount, balance,
         transfer as "transferId", reason, at
    from summed where $2::text is null or place collate "C" < $2 order by place collate "C" desc limit $3`;

export interface Statement {
  lines(accountId: Uuid, page: { before?: string | undefined; limit: number }): Promise<StatementLine[]>;
  /** Without a limit: all of it, as it is at one moment. */
  byDay(accountId: Uuid, page?: { before: string | undefined; limit: number }): Promise<StatementRow[]>;
}

export function openStatement({ pool }: { pool: pg.Pool }): Statement {
  return {
    lines: (accountId, { before, limit }) =>
      queryRows(
        pool,
        StatementLine,
        `select e.position::text as id, e.kind, e.amount, e.of, e.operation, t.reason, e.at
           from ledger_entry e left join transfer t on t.id = e.operation
          where e.account_id = $1 and ($2::uuid is null or e.position < $2)
          order by e.position desc limit $3`,
        [accountId, before ?? null, limit],
      ),
    byDay: (accountId, page) =>
      queryRows(pool, StatementRow, BY_DAY, [accountId, page?.before ?? null, page?.limit ?? null]),
  };
}
