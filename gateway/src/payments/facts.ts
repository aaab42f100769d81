/** What the provider has told about payments. A payment's row is the lock under which its facts are read and changed. */
import type pg from "pg";
import { type Pico, pico } from "../base/money.ts";
import type { ReversalKind } from "./provider.ts";
import { newest, type Reversal } from "./rules.ts";

/** Makes the payment's row if there is none. Two gateways with news of one payment wait for each other here. */
export async function lockPayment(client: pg.PoolClient, payment: string): Promise<void> {
  await client.query("insert into payment (id) values ($1) on conflict (id) do nothing", [payment]);
  await client.query("select from payment where id = $1 for update", [payment]);
}

export async function noteRefunded(client: pg.PoolClient, payment: string, total: Pico): Promise<void> {
  await client.query("update payment set refunded = greatest(refunded, $2) where id = $1", [payment, total.toString()]);
}

export async function noteReversal(
  client: pg.PoolClient,
  told: Reversal & { id: string; payment: string },
): Promise<void> {
  const { rows } = await client.query("select kind, amount, status, as_of from payment_reversal where id = $1", [
    told.id,
  ]);
  const { kind, amount, status, asOf } = rows[0] === undefined ? told : newest(reversalOf(rows[0]), told);
  await client.query(
    `insert into payment_reversal (id, payment_id, kind, amount, status, as_of) values ($1, $2, $3, $4, $5, $6)
     on conflict (id) do update set amount = excluded.amount, status = excluded.status, as_of = excluded.as_of`,
    [told.id, told.payment, kind, amount.toString(), status, asOf],
  );
}

export interface Facts {
  refundedTotal: Pico;
  reversals: Reversal[];
}

export async function factsOf(client: pg.PoolClient, payment: string | null): Promise<Facts> {
  const totals = await client.query("select refunded from payment where id = $1", [payment]);
  const { rows } = await client.query(
    "select kind, amount, status, as_of from payment_reversal where payment_id = $1 order by id",
    [payment],
  );
  return { refundedTotal: pico(totals.rows[0]?.refunded ?? 0n), reversals: rows.map(reversalOf) };
}

function reversalOf(row: { kind: ReversalKind; amount: bigint; status: string; as_of: Date }): Reversal {
  return { kind: row.kind, amount: pico(row.amount), status: row.status, asOf: row.as_of };
}
