/**
 * One event of the provider, from what it tells to what was moved, in one transaction: either all of it happened or nothing,
 * and then the provider sends it again. A repeat takes the same way and finds nothing left to do.
 *
 * Locks are always taken in this order: payment, checkout, the ledger's accounts, event.
 */
import type pg from "pg";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import { inTransaction } from "../db/pool.ts";
import { advance, type Checkout, lockCheckout } from "./checkouts.ts";
import { noteEvent, type Outcome } from "./events.ts";
import { factsOf, lockPayment, noteRefunded, noteReversal } from "./facts.ts";
import { make, movesMade } from "./moves.ts";
import { inPico, type Money, type News, type ProviderEvent } from "./provider.ts";
import { furthest, judge, type Move, movesLeft } from "./rules.ts";

export interface Taken {
  outcome: Outcome;
  checkoutId: Uuid | null;
  moves: Move[];
}

/** A gateway that stops answering in the middle must not keep the accounts locked. */
const IDLE_MAX = "set local idle_in_transaction_session_timeout = '10s'";

export async function takeIn(options: { pool: pg.Pool; newId: NewId }, event: ProviderEvent): Promise<Taken> {
  return await inTransaction(options.pool, async (client) => {
    await client.query(IDLE_MAX);
    const taken = await apply(client, event);
    await noteEvent(client, event, { id: options.newId(), ...taken });
    return taken;
  });
}

async function apply(client: pg.PoolClient, { news, occurredAt }: ProviderEvent): Promise<Taken> {
  if (news.kind === "other") return of("ignored");
  if (news.payment !== null) await lockPayment(client, news.payment);
  if (news.kind === "session") return await applySession(client, news);
  const checkout = await lockCheckout(client, { payment: news.payment });
  const noted = await note(client, news, occurredAt);
  if (checkout === undefined) return of(noted ? "waiting" : "ignored");
  const moves = await catchUp(client, checkout);
  return { outcome: noted ? "applied" : "mismatch", checkoutId: checkout.id, moves };
}

async function applySession(client: pg.PoolClient, news: Extract<News, { kind: "session" }>): Promise<Taken> {
  const found = await lockCheckout(client, { session: news.session });
  // Other products may sell through the same account of the provider; their checkouts do not bear our names.
  if (found === undefined) return of(news.reference?.startsWith("pay_") ? "unknown" : "ignored");
  const asked = { reference: publicId("pay", found.id), amount: found.amount, payment: found.payment };
  const verdict = judge(asked, news);
  const checkout = await advance(client, found, {
    state: furthest(found.state, verdict),
    payment: verdict === "mismatch" ? null : news.payment,
  });
  const moves = await catchUp(client, checkout);
  return { outcome: verdict === "mismatch" ? "mismatch" : "applied", checkoutId: checkout.id, moves };
}

/** False where it is money of another currency, of which nothing is noted. */
async function note(
  client: pg.PoolClient,
  news: Extract<News, { kind: "refunded" | "reversal" }>,
  asOf: Date,
): Promise<boolean> {
  const told: Money = news.kind === "refunded" ? news.total : news.amount;
  const amount = inPico(told);
  if (amount === undefined) return false;
  if (news.kind === "refunded") await noteRefunded(client, news.payment, amount);
  else {
    const { id, payment, reversal: kind, status } = news;
    await noteReversal(client, { id, payment, kind, amount, status, asOf });
  }
  return true;
}

/** Moves what follows from all that is known by now and was not moved yet. */
async function catchUp(client: pg.PoolClient, checkout: Checkout): Promise<Move[]> {
  const facts = await factsOf(client, checkout.payment);
  const made = await movesMade(client, checkout.id);
  const moves = movesLeft({ state: checkout.state, amount: checkout.amount, ...facts }, made.sums);
  await make(client, checkout, { moves, after: made.count });
  return moves;
}

const of = (outcome: Outcome): Taken => ({ outcome, checkoutId: null, moves: [] });
