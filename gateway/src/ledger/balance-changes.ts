/**
 * The changes of an account's balance in a span of whole hours: sums of requests by model, and each transfer. All are
 * read in one snapshot, so the balance before the span plus the changes equals the balance after it.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import { TRANSFER_KINDS, type TransferKind } from "../base/stored-enumerations.ts";
import { buildOwnerHourlyRowsSql } from "../db/owner-hourly-rows-sql.ts";
import { column, queryOne, row } from "../db/rows.ts";

const ModelMoves = z.object({
  model: z.string(),
  requests: z.number(),
  promptTokens: z.number(),
  completionTokens: z.number(),
  amount: z.string(),
});
const TransferMove = z.object({
  id: z.string(),
  kind: z.enum(TRANSFER_KINDS),
  amount: z.string(),
  reason: z.string(),
  at: z.string(),
});
/** Amounts are text, because JSON numbers would lose digits. */
const Found = row({
  after: column.pico,
  models: z.array(ModelMoves),
  transfers: z.array(TransferMove),
});

export interface BalanceChanges {
  /** The sums by model: negative for a builder, positive for a host. */
  models: (Omit<z.infer<typeof ModelMoves>, "amount"> & { amount: Pico })[];
  /** The transfers, oldest first. */
  transfers: { id: Uuid; kind: TransferKind; amount: Pico; reason: string; at: Date }[];
  before: Pico;
  after: Pico;
}

/** The usage of a builder, or the earnings of a host. An account is only one of the two. `$1`: the account. */
const moved = (from: string, to: string): string => `(
  select model, requests, prompt_tokens, completion_tokens, -charge_pico as amount
    from usage_hour where ${buildOwnerHourlyRowsSql("account_id", from, to)}
  union all
  select model, requests, prompt_tokens, completion_tokens, host_pico
    from earning_hour where ${buildOwnerHourlyRowsSql("host_account_id", from, to)})`;

const OWN_TRANSFERS = "e.account_id = $1 and e.kind not in ('charge', 'share', 'fee')";

/** `$2`: start of the span. `$3`: its end. */
const MOVES = `
  select coalesce((select balance from ledger_account where id = $1), 0)
           - (select coalesce(sum(amount), 0) from ${moved("$3::timestamptz", "timestamptz 'infinity'")} later)
           - (select coalesce(sum(e.amount), 0) from ledger_entry e where ${OWN_TRANSFERS} and e.at >= $3) as after,
         (select coalesce(jsonb_agg(to_jsonb(m) order by m.model), '[]') from (
            select model, sum(requests)::float8 as requests, sum(prompt_tokens)::float8 as "promptTokens",
                   sum(completion_tokens)::float8 as "completionTokens", sum(amount)::text as amount
              from ${moved("$2::timestamptz", "$3::timestamptz")} own group by model) m) as models,
         (select coalesce(jsonb_agg(jsonb_build_object(
              'id', t.id, 'kind', e.kind, 'amount', e.amount::text, 'reason', t.reason, 'at', e.at) order by e.at, t.id), '[]')
            from ledger_entry e join transfer t on t.id = e.operation
           where ${OWN_TRANSFERS} and e.at >= $2 and e.at < $3) as transfers`;

export function openBalanceChangeReader({ pool }: { pool: pg.Pool }) {
  return async (accountId: Uuid, { from, to }: { from: Date; to: Date }): Promise<BalanceChanges> => {
    const found = await queryOne(pool, Found, MOVES, [accountId, from, to]);
    const { after } = found;
    const models = found.models.map((row) => ({ ...row, amount: pico(BigInt(row.amount)) }));
    const transfers = found.transfers.map((row) => ({
      ...row,
      id: row.id as Uuid,
      amount: pico(BigInt(row.amount)),
      at: new Date(row.at),
    }));
    const sum = [...models, ...transfers].reduce((so, { amount }) => so + amount, 0n);
    return { models, transfers, before: pico(after - sum), after };
  };
}
