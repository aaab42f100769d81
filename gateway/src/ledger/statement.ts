/** A builder account's statement: every line of the ledger that is its own, newest first, with what it was for. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { BUILDER_ENTRY_KINDS } from "../base/states.ts";
import { column, queryRows, row } from "../db/rows.ts";

const StatementLine = row({
  /** Grows with time; the position of a page. */
  id: z.string(),
  kind: z.enum(BUILDER_ENTRY_KINDS),
  amount: column.pico,
  /** The request or the transfer that moved it. */
  operation: column.uuid,
  /** Why a transfer was made; null for a request. */
  reason: z.string().nullable(),
  at: column.moment,
});
export type StatementLine = z.infer<typeof StatementLine>;

export interface Statement {
  lines(accountId: Uuid, page: { before?: string | undefined; limit: number }): Promise<StatementLine[]>;
}

export function openStatement({ pool }: { pool: pg.Pool }): Statement {
  return {
    lines: (accountId, { before, limit }) =>
      queryRows(
        pool,
        StatementLine,
        `select e.id::text, e.kind, e.amount, e.operation, t.reason, e.at
           from ledger_entry e left join transfer t on t.id = e.operation
          where e.account_id = $1 and ($2::bigint is null or e.id < $2)
          order by e.id desc limit $3`,
        [accountId, before ?? null, limit],
      ),
  };
}
