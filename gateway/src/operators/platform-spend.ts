/** Sums charges by account and model over whole hours, from rollups (pre-aggregated usage). */
import type pg from "pg";
import { z } from "zod";
import { hasClosedDays, usageRowsSql } from "../db/closed-days.ts";
import { column, queryRows, row } from "../db/rows.ts";

const Sums = { requests: column.count, failed: column.count, charge: column.pico };
const Spender = row({ accountId: column.uuid, name: z.string(), ...Sums });
type Spender = z.infer<typeof Spender>;
const ModelSpend = row({ model: z.string(), charge: column.pico });
type ModelSpend = z.infer<typeof ModelSpend>;

interface Span {
  from: Date;
  to: Date;
}

export interface PlatformSpend {
  /** The accounts with the highest charges. */
  accounts(span: Span, limit: number): Promise<Spender[]>;
  models(span: Span): Promise<ModelSpend[]>;
}

const SPAN = { from: "date_trunc('hour', $1::timestamptz)", to: "$2::timestamptz" };
/**
 * The same rules as in performance rollups: requests refused by a limit are not counted, and client disconnects are no
 * errors.
 */
const REQUEST = "outcome not like 'rate\\_limit\\_%'";
const FAILED = `${REQUEST} and outcome not in ('ok', 'client_closed')`;

export function openPlatformSpend({ pool }: { pool: pg.Pool }): PlatformSpend {
  return {
    accounts: async ({ from, to }, limit) =>
      queryRows(
        pool,
        Spender,
        `select s.account_id as "accountId", a.name, s.requests, s.failed, s.charge
           from (select account_id, coalesce(sum(requests) filter (where ${REQUEST}), 0)::float8 as requests,
                        coalesce(sum(requests) filter (where ${FAILED}), 0)::float8 as failed, sum(charge_pico) as charge
                   from ${usageRowsSql("accounts", SPAN, await hasClosedDays(pool))} used group by 1 having sum(charge_pico) > 0
                  order by 4 desc, 1 limit $3) s
           join account a on a.id = s.account_id order by s.charge desc, s.account_id`,
        [from, to, limit],
      ),
    models: async ({ from, to }) =>
      queryRows(
        pool,
        ModelSpend,
        `select model, sum(charge_pico) as charge from ${usageRowsSql("all", SPAN, await hasClosedDays(pool))} used
          group by 1 order by 1`,
        [from, to],
      ),
  };
}
