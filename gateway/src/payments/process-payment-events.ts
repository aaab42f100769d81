/**
 * Processes a provider's event in one transaction. It either commits completely, or the provider sends the event again.
 * A repeated event moves no money. Lock order: payment, checkout, the account's automatic purchases, ledger accounts,
 * event. Tables: gateway/sql/migrations/0010_payments.sql and 0024_credits.sql.
 */
import { createHash } from "node:crypto";
import type pg from "pg";
import { z } from "zod";
import { type NewId, parseId, publicId, type Uuid } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import { type Pico, ZERO } from "../base/money.ts";
import {
  CHECKOUT_STATES,
  type CheckoutState,
  PAYMENT_TRANSFER_KINDS,
  type PaymentEventOutcome,
  REVERSAL_KINDS,
  type TopUpFailure,
} from "../base/stored-enumerations.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryOne, queryRow, queryRows, row } from "../db/rows.ts";
import { AUTOMATIC_PACK, CUSTOM_PACK } from "./credit-packs.ts";
import { storePaymentMethod } from "./payment-methods.ts";
import {
  convertToPico,
  type MinorUnitAmount,
  type PaymentEventContent,
  type PaymentIntentResult,
  type ProviderEvent,
  type SavedPaymentMethod,
} from "./payment-provider.ts";
import {
  chooseNewerReversal,
  computeCheckoutState,
  findMissingTransfers,
  type MissingTransfer,
  pickFurthestState,
  type Reversal,
  type TransferredSums,
} from "./payment-rules.ts";

export interface PaymentEventResult {
  outcome: PaymentEventOutcome;
  checkoutId: Uuid | null;
  moves: MissingTransfer[];
}

/** A timeout for the transaction, so that a stalled gateway does not keep accounts locked. */
const IDLE_MAX = "set local idle_in_transaction_session_timeout = '10s'";

/** Called within the transaction when an automatic purchase failed or was refunded or disputed. */
export type OnTopUpFailed = (client: pg.PoolClient, accountId: Uuid, failure: TopUpFailure) => Promise<void>;

interface TakeInOptions {
  pool: pg.Pool;
  newId: NewId;
  onFailed: OnTopUpFailed;
}

/** `saved`: the card that the provider returned for a setup event. */
export async function processEvent(
  options: TakeInOptions,
  event: ProviderEvent,
  saved?: SavedPaymentMethod,
): Promise<PaymentEventResult> {
  return await inTransaction(options.pool, async (client) => {
    await client.query(IDLE_MAX);
    const taken = await apply(client, event, { ...options, saved });
    await noteEvent(client, event, { id: options.newId(), ...taken });
    return taken;
  });
}

/** Processes the response to an automatic purchase in the same way as an event. */
export async function processChargeAnswer(
  options: Omit<TakeInOptions, "newId">,
  news: PaymentIntentResult,
): Promise<PaymentEventResult> {
  return await inTransaction(options.pool, async (client) => {
    await client.query(IDLE_MAX);
    if (news.payment !== null) await lockPayment(client, news.payment);
    return await applyIntent(client, news, options.onFailed);
  });
}

async function apply(
  client: pg.PoolClient,
  { news, occurredAt }: ProviderEvent,
  { saved, onFailed }: { saved: SavedPaymentMethod | undefined; onFailed: OnTopUpFailed },
): Promise<PaymentEventResult> {
  if (news.kind === "other") return of("ignored");
  if (news.kind === "setup") {
    return of(saved !== undefined && (await storePaymentMethod(client, saved, occurredAt)) ? "applied" : "ignored");
  }
  if (news.payment !== null) await lockPayment(client, news.payment);
  if (news.kind === "session") return await applySession(client, news, onFailed);
  if (news.kind === "intent") return await applyIntent(client, news, onFailed);
  const checkout = await lockCheckout(client, { payment: news.payment });
  const noted = await note(client, news, occurredAt);
  if (checkout === undefined) return of(noted ? "waiting" : "ignored");
  const moves = await catchUp(client, checkout, onFailed);
  return { outcome: noted ? "applied" : "mismatch", checkoutId: checkout.id, moves };
}

async function applySession(
  client: pg.PoolClient,
  news: Extract<PaymentEventContent, { kind: "session" }>,
  onFailed: OnTopUpFailed,
): Promise<PaymentEventResult> {
  const found = await lockCheckout(client, { session: news.session });
  // Other products may use the same provider account. Their checkouts do not have an ID of this platform.
  if (found === undefined) return of(news.reference?.startsWith("pay_") ? "unknown" : "ignored");
  const asked = { reference: publicId("pay", found.id), amount: found.amount, payment: found.payment };
  const verdict = computeCheckoutState(asked, news);
  const checkout = await advance(client, found, {
    state: pickFurthestState(found.state, verdict),
    payment: verdict === "mismatch" ? null : news.payment,
  });
  const moves = await catchUp(client, checkout, onFailed);
  return { outcome: verdict === "mismatch" ? "mismatch" : "applied", checkoutId: checkout.id, moves };
}

/**
 * Processes the result of a payment, but only for automatic purchases. On a payment page a failed payment is not final,
 * because the buyer can use another card.
 */
async function applyIntent(
  client: pg.PoolClient,
  news: PaymentIntentResult,
  onFailed: OnTopUpFailed,
): Promise<PaymentEventResult> {
  const id = parseId("pay", news.reference);
  const found = id === undefined ? undefined : await lockCheckout(client, { id });
  if (found === undefined) return of("unknown");
  if (found.pack !== AUTOMATIC_PACK) return of("ignored");
  const asked = { reference: news.reference, amount: found.amount, payment: found.payment };
  const verdict = computeCheckoutState(asked, news);
  const state = pickFurthestState(found.state, verdict);
  const checkout = await advance(client, found, { state, payment: verdict === "mismatch" ? null : news.payment });
  await client.query("update payment_automatic set next_at = null where checkout_id = $1", [checkout.id]);
  const ended = state !== found.state && (state === "failed" || state === "mismatch");
  if (ended) await onFailed(client, checkout.accountId, news.failure ?? "declined");
  const moves = await catchUp(client, checkout, onFailed);
  return { outcome: verdict === "mismatch" ? "mismatch" : "applied", checkoutId: checkout.id, moves };
}

/** Records a payment or reversal. Returns false for another currency, of which nothing is recorded. */
async function note(
  client: pg.PoolClient,
  news: Extract<PaymentEventContent, { kind: "refunded" | "reversal" }>,
  asOf: Date,
): Promise<boolean> {
  const told: MinorUnitAmount = news.kind === "refunded" ? news.total : news.amount;
  const amount = convertToPico(told);
  if (amount === undefined) return false;
  if (news.kind === "refunded") await noteRefunded(client, news.payment, amount);
  else {
    const { id, payment, reversal: kind, status } = news;
    await noteReversal(client, { id, payment, kind, amount, status, asOf });
  }
  return true;
}

/** Makes the transfers that the known facts require and that have not been made yet. */
async function catchUp(client: pg.PoolClient, checkout: Checkout, onFailed: OnTopUpFailed): Promise<MissingTransfer[]> {
  const facts = await factsOf(client, checkout.payment);
  const made = await movesMade(client, checkout.id);
  const moves = findMissingTransfers({ state: checkout.state, amount: checkout.amount, ...facts }, made.sums);
  const taken = moves.filter(({ amount }) => amount < 0n).map(({ kind }) => kind);
  if (checkout.pack === AUTOMATIC_PACK && taken.length > 0)
    await onFailed(client, checkout.accountId, taken.includes("dispute") ? "disputed" : "refunded");
  await make(client, checkout, { moves, after: made.count });
  return moves;
}

const of = (outcome: PaymentEventOutcome): PaymentEventResult => ({ outcome, checkoutId: null, moves: [] });

const Checkout = row({
  id: column.uuid,
  accountId: column.uuid,
  pack: z.string(),
  amount: column.pico,
  /** The provider's payment ID; null until it is known. */
  payment: z.string().nullable(),
  state: z.enum(CHECKOUT_STATES),
});
type Checkout = z.infer<typeof Checkout>;

/**
 * Finds a checkout by session, payment or ID, and locks it until the transaction ends. Events about one checkout are
 * thus processed one at a time.
 */
function lockCheckout(
  client: pg.PoolClient,
  by: { session: string } | { payment: string } | { id: Uuid },
): Promise<Checkout | undefined> {
  const [named, value] =
    "session" in by
      ? ["provider_session", by.session]
      : "payment" in by
        ? ["provider_payment", by.payment]
        : ["id", by.id];
  return queryRow(
    client,
    Checkout,
    `select id, account_id as "accountId", pack, amount, provider_payment as payment, state
       from payment_checkout where ${named} = $1 for no key update`,
    [value],
  );
}

async function advance(
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

/** Locks the payment's row, creating it if needed, so that concurrent events of one payment wait for each other. */
async function lockPayment(client: pg.PoolClient, payment: string): Promise<void> {
  await client.query("insert into payment (id) values ($1) on conflict (id) do nothing", [payment]);
  await client.query("select from payment where id = $1 for update", [payment]);
}

async function noteRefunded(client: pg.PoolClient, payment: string, total: Pico): Promise<void> {
  await client.query("update payment set refunded = greatest(refunded, $2) where id = $1", [payment, total.toString()]);
}

const StoredReversal = row({
  kind: z.enum(REVERSAL_KINDS),
  amount: column.pico,
  status: z.string(),
  asOf: column.moment,
});
const REVERSAL = `select kind, amount, status, as_of as "asOf" from payment_reversal`;

async function noteReversal(client: pg.PoolClient, told: Reversal & { id: string; payment: string }): Promise<void> {
  const known = await queryRow(client, StoredReversal, `${REVERSAL} where id = $1`, [told.id]);
  const { kind, amount, status, asOf } = known === undefined ? told : chooseNewerReversal(known, told);
  await client.query(
    `insert into payment_reversal (id, payment_id, kind, amount, status, as_of) values ($1, $2, $3, $4, $5, $6)
     on conflict (id) do update set amount = excluded.amount, status = excluded.status, as_of = excluded.as_of`,
    [told.id, told.payment, kind, amount.toString(), status, asOf],
  );
}

const Refunded = row({ refunded: column.pico });

async function factsOf(
  client: pg.PoolClient,
  payment: string | null,
): Promise<{ refundedTotal: Pico; reversals: Reversal[] }> {
  const total = await queryRow(client, Refunded, "select refunded from payment where id = $1", [payment]);
  const reversals = await queryRows(client, StoredReversal, `${REVERSAL} where payment_id = $1 order by id`, [payment]);
  return { refundedTotal: total?.refunded ?? ZERO, reversals };
}

const MoveSum = row({ kind: z.enum(PAYMENT_TRANSFER_KINDS), count: column.count, amount: column.pico });

async function movesMade(client: pg.PoolClient, checkoutId: Uuid): Promise<{ count: number; sums: TransferredSums }> {
  const made = await queryRows(
    client,
    MoveSum,
    "select kind, count(*)::int as count, sum(amount) as amount from payment_move where checkout_id = $1 group by kind",
    [checkoutId],
  );
  const sums: TransferredSums = { purchase: ZERO, refund: ZERO, dispute: ZERO };
  for (const { kind, amount } of made) sums[kind] = amount;
  return { count: made.reduce((total, { count }) => total + count, 0), sums };
}

const TransferCode = row({ code: z.int() });
const MOVED = 1;

/**
 * Transfers money and records the transfer. The caller holds the checkout's lock, so transfers are numbered without
 * gaps. The transfer's ID derives from checkout and number, so the ledger refuses a duplicate.
 */
async function make(
  client: pg.PoolClient,
  checkout: Checkout,
  { moves, after }: { moves: MissingTransfer[]; after: number },
): Promise<void> {
  for (const [i, { kind, amount }] of moves.entries()) {
    const ordinal = after + i + 1;
    const transferId = deriveTransferId(checkout.id, ordinal);
    const { code } = await queryOne(client, TransferCode, "select ledger_transfer($1, $2, $3, $4, $5) as code", [
      transferId,
      // Money that returns to the account is booked as a purchase, so that purchases less refunds and disputes equal
      // the buyer's payments.
      amount > 0n ? "purchase" : kind,
      checkout.accountId,
      (amount > 0n ? amount : -amount).toString(),
      reasonOf(checkout, { kind, amount }),
    ]);
    invariant(code === MOVED, `transfer ${transferId} of checkout ${checkout.id} gave ${code}`);
    await client.query(
      "insert into payment_move (checkout_id, ordinal, kind, amount, transfer_id) values ($1, $2, $3, $4, $5)",
      [checkout.id, ordinal, kind, amount.toString(), transferId],
    );
  }
}

/** A UUIDv7 with the checkout's time, and a hash of checkout and number in place of random bits. */
export function deriveTransferId(checkoutId: Uuid, ordinal: number): Uuid {
  const hash = createHash("sha256").update(`${checkoutId}/${ordinal}`).digest("hex");
  const variant = "89ab".charAt(Number.parseInt(hash.charAt(3), 16) & 3);
  const tail = `7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
  return `${checkoutId.slice(0, 13)}-${tail}` as Uuid;
}

/** The reason shown on the account's statement. */
function reasonOf({ id, pack }: Checkout, { kind, amount }: MissingTransfer): string {
  const name = publicId("pay", id);
  if (kind === "purchase" && pack === AUTOMATIC_PACK) return `automatic top-up (${name})`;
  if (kind === "purchase") return pack === CUSTOM_PACK ? `credits bought (${name})` : `${pack} bought (${name})`;
  if (amount < 0n) return kind === "refund" ? `refund of ${name}` : `dispute over ${name}`;
  return kind === "refund" ? `refund of ${name} failed` : `dispute over ${name} decided in your favour`;
}

/** Records the provider's event in a row. A repeated delivery updates the row of the first one. */
async function noteEvent(
  client: pg.PoolClient,
  { id: providerEvent, type, occurredAt }: ProviderEvent,
  taken: { id: Uuid; outcome: PaymentEventOutcome; checkoutId: Uuid | null },
): Promise<void> {
  await client.query(
    `insert into payment_event (id, provider_event, type, occurred_at, outcome, checkout_id)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (provider_event) do update
       set deliveries = payment_event.deliveries + 1, outcome = excluded.outcome, checkout_id = excluded.checkout_id`,
    [taken.id, providerEvent, type, occurredAt, taken.outcome, taken.checkoutId],
  );
}

/** Longer than the provider repeats events, and longer than a card payment can be disputed. */
const EVENTS_KEPT_DAYS = 400;

/**
 * Deletes old events, except those that need attention, and returns their number. The events' effects stay recorded, so
 * a repeated event changes nothing.
 */
export async function deleteOldEvents(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from payment_event
      where received_at < now() - make_interval(days => $1) and outcome not in ('mismatch', 'unknown')`,
    [EVENTS_KEPT_DAYS],
  );
  return rowCount ?? 0;
}
