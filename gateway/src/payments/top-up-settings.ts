/** An account's settings for automatic top-up, which can be read without calling the provider. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import type { Pico } from "../base/money.ts";
import { TOP_UP_FAILURES } from "../base/stored-enumerations.ts";
import { startOfMonth } from "../base/time.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import { AUTOMATIC_PACK } from "./credit-packs.ts";

export const TopUpRow = row({
  enabled: z.boolean(),
  amount: column.pico,
  mark: column.pico,
  monthMax: column.pico,
  begunAt: column.moment.nullable(),
  failure: z.enum(TOP_UP_FAILURES).nullable(),
  failedAt: column.moment.nullable(),
});
export const TOP_UP_QUERY = `select enabled, amount, mark, month_max as "monthMax", begun_at as "begunAt", failure, failed_at as "failedAt"
  from auto_topup where account_id = $1`;

export type AutoTopUp = z.infer<typeof TopUpRow> & { monthSpent: Pico };
export type TopUpSettings = Pick<AutoTopUp, "enabled" | "amount" | "mark" | "monthMax">;

const Spent = row({ spent: column.pico });

/** The month's spending that counts towards the maximum: everything paid or still payable. */
export const MONTH_SPENT_SQL = `coalesce((select sum(amount) from payment_checkout
   where account_id = $1 and pack = '${AUTOMATIC_PACK}' and created_at >= $2 and state not in ('failed', 'expired')), 0)`;

/** Undefined if automatic top-up was never configured. */
export async function readTopUp(pool: pg.Pool, accountId: Uuid, nowMs: number): Promise<AutoTopUp | undefined> {
  const set = await queryRow(pool, TopUpRow, TOP_UP_QUERY, [accountId]);
  if (set === undefined) return undefined;
  const { spent } = await queryOne(pool, Spent, `select ${MONTH_SPENT_SQL} as spent`, [accountId, startOfMonth(nowMs)]);
  return { ...set, monthSpent: spent };
}

/** Returns false if top-up should be turned on but no card is saved in the provider's current mode (test or live). */
export async function setTopUp(
  pool: pg.Pool,
  accountId: Uuid,
  { enabled, amount, mark, monthMax }: TopUpSettings,
  { live }: { live: boolean },
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into auto_topup (account_id, enabled, amount, mark, month_max)
     select $1, $2, $3::bigint, $4::bigint, $5::bigint
      where not $2 or exists (select from payment_customer
                               where account_id = $1 and live = $6 and provider_method is not null)
     on conflict (account_id) do update
       set enabled = excluded.enabled, amount = excluded.amount, mark = excluded.mark, month_max = excluded.month_max,
           -- Whoever sets it, on or off, has dealt with what turned it off.
           failure = null, failed_at = null`,
    [accountId, enabled, amount.toString(), mark.toString(), monthMax.toString(), live],
  );
  return rowCount === 1;
}

/** Turns top-ups off and keeps the other settings. Returns false if never configured. */
export async function disableTopUp(client: pg.Pool | pg.PoolClient, accountId: Uuid): Promise<boolean> {
  const { rowCount } = await client.query("update auto_topup set enabled = false where account_id = $1", [accountId]);
  return rowCount === 1;
}
