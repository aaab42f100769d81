/** The checkouts on record, and the lock that makes one piece of news at a time speak about each. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import type { CheckoutState } from "./rules.ts";

export interface Checkout {
  id: Uuid;
  accountId: Uuid;
  pack: string;
  amount: Pico;
  payment: string | null;
  state: CheckoutState;
}

export interface NewCheckout {
  id: Uuid;
  accountId: Uuid;
  pack: string;
  amount: Pico;
  live: boolean;
  session: string;
}

export async function record(pool: pg.Pool, checkout: NewCheckout): Promise<void> {
  const { id, accountId, pack, amount, live, session } = checkout;
  await pool.query(
    `insert into payment_checkout (id, account_id, pack, amount, live, provider_session) values ($1, $2, $3, $4, $5, $6)`,
    [id, accountId, pack, amount.toString(), live, session],
  );
}

/** The checkout of that session or payment, locked until the transaction ends. */
export async function lockCheckout(
  client: pg.PoolClient,
  by: { session: string } | { payment: string },
): Promise<Checkout | undefined> {
  const [column, value] =
    "session" in by ? ["provider_session", by.session] : (["provider_payment", by.payment] as const);
  const { rows } = await client.query(
    `select id, account_id, pack, amount, provider_payment, state
       from payment_checkout where ${column} = $1 for no key update`,
    [value],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const { id, account_id: accountId, pack, amount, provider_payment: payment, state } = row;
  return { id, accountId, pack, amount: pico(amount), payment, state };
}

export async function advance(
  client: pg.PoolClient,
  checkout: Checkout,
  to: { state: CheckoutState; payment: string | null },
): Promise<Checkout> {
  const payment = checkout.payment ?? to.payment;
  if (to.state !== checkout.state || payment !== checkout.payment) {
    await client.query(
      "update payment_checkout set state = $2, provider_payment = $3, changed_at = now() where id = $1",
      [checkout.id, to.state, payment],
    );
  }
  return { ...checkout, state: to.state, payment };
}
