/** An account's statement: every line of its books, newest first, with what it was for. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";

export interface StatementLine {
  /** Grows with time; the position of a page. */
  id: string;
  kind: string;
  amount: Pico;
  /** The request or the transfer that moved it. */
  operation: Uuid;
  /** Why a transfer was made; null for a request. */
  reason: string | null;
  at: Date;
}

export interface Statement {
  lines(accountId: Uuid, page: { before?: string | undefined; limit: number }): Promise<StatementLine[]>;
}

export function openStatement({ pool }: { pool: pg.Pool }): Statement {
  return {
    async lines(accountId, { before, limit }) {
      const { rows } = await pool.query(
        `select e.id::text, e.kind, e.amount, e.operation, t.reason, e.at
           from ledger_entry e left join transfer t on t.id = e.operation
          where e.account_id = $1 and ($2::bigint is null or e.id < $2)
          order by e.id desc limit $3`,
        [accountId, before ?? null, limit],
      );
      return rows.map((row) => ({ ...row, amount: pico(BigInt(row.amount)) }));
    },
  };
}
