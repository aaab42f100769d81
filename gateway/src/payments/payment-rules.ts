/**
 * Computes the transfers that a checkout requires from its known facts. Facts arrive in any order, repeatedly and at
 * several gateways, and the result does not depend on the order. States only advance, the latest fact about a refund or
 * dispute counts, and a transfer is the difference to what was moved before.
 */
import { type Pico, pico } from "../base/money.ts";
import {
  CHECKOUT_STATES,
  type CheckoutState,
  PAYMENT_TRANSFER_KINDS,
  type PaymentTransferKind,
  type ReversalKind,
} from "../base/stored-enumerations.ts";
import { convertToPico, type PaymentEventContent } from "./payment-provider.ts";

/** The more advanced of two states, in the order in which a payment progresses. */
export const pickFurthestState = (a: CheckoutState, b: CheckoutState): CheckoutState =>
  CHECKOUT_STATES.indexOf(a) >= CHECKOUT_STATES.indexOf(b) ? a : b;

interface Asked {
  reference: string;
  amount: Pico;
  /** The payment reported earlier; null if there was none. */
  payment: string | null;
}

/**
 * The checkout's state after an event about a session or a payment. `mismatch` unless one payment paid exactly the
 * requested amount.
 */
export function computeCheckoutState(
  asked: Asked,
  told: Extract<PaymentEventContent, { kind: "session" | "intent" }>,
): CheckoutState {
  if (told.seen !== "paid") return told.seen;
  const paid = told.total === null ? undefined : convertToPico(told.total);
  const fits = paid === asked.amount && told.reference === asked.reference && told.payment !== null;
  return fits && (asked.payment === null || asked.payment === told.payment) ? "paid" : "mismatch";
}

/**
 * Whether a refund or dispute with this status has taken the money. Statuses are in chronological order: of two events
 * in the same second, the later status counts.
 */
const MONEY_IS_AWAY: Record<ReversalKind, Record<string, boolean>> = {
  refund: { pending: true, requires_action: true, succeeded: true, canceled: false, failed: false },
  dispute: {
    // An inquiry takes no money. A dispute that follows it does.
    warning_needs_response: false,
    warning_under_review: false,
    warning_closed: false,
    prevented: false,
    needs_response: true,
    under_review: true,
    lost: true,
    appeal_needs_response: true,
    appeal_under_review: true,
    won: false,
  },
};

export const isKnownStatus = (kind: ReversalKind, status: string): boolean =>
  Object.hasOwn(MONEY_IS_AWAY[kind], status);

export interface Reversal {
  kind: ReversalKind;
  amount: Pico;
  status: string;
  asOf: Date;
}

/** The more recent of two facts about the same refund or dispute. */
export function chooseNewerReversal(a: Reversal, b: Reversal): Reversal {
  const order = Object.keys(MONEY_IS_AWAY[a.kind]);
  const apart = b.asOf.getTime() - a.asOf.getTime() || order.indexOf(b.status) - order.indexOf(a.status);
  if (apart !== 0) return apart > 0 ? b : a;
  return b.amount > a.amount ? b : a;
}

export interface KnownCheckout {
  state: CheckoutState;
  amount: Pico;
  /** The largest total of refunds that an event has reported. */
  refundedTotal: Pico;
  reversals: Reversal[];
}

/** Sums from the account's view: a purchase is positive, a refund negative, a reversed refund positive. */
export type TransferredSums = Record<PaymentTransferKind, Pico>;

/** The sums that the ledger should show. Nothing is taken back for a checkout that was never credited. */
export function computeExpectedSums({ state, amount, refundedTotal, reversals }: KnownCheckout): TransferredSums {
  if (state !== "paid") return { purchase: pico(0n), refund: pico(0n), dispute: pico(0n) };
  const sum = (kind: ReversalKind, away: boolean): bigint =>
    reversals
      .filter((reversal) => reversal.kind === kind && MONEY_IS_AWAY[kind][reversal.status] === away)
      .reduce((total, reversal) => total + reversal.amount, 0n);
  // Refunds are reported singly and as a total, and either report may be missing or late, so the larger sum counts. The
  // total may include refunds that failed later, so these are subtracted from it.
  const [listed, total] = [sum("refund", true), refundedTotal - sum("refund", false)];
  return {
    purchase: amount,
    refund: pico(-(listed > total ? listed : total)),
    dispute: pico(-sum("dispute", true)),
  };
}

export interface MissingTransfer {
  kind: PaymentTransferKind;
  amount: Pico;
}

/** The missing transfers. Empty once all were made, so repeated events change nothing. */
export function findMissingTransfers(known: KnownCheckout, made: TransferredSums): MissingTransfer[] {
  const should = computeExpectedSums(known);
  return PAYMENT_TRANSFER_KINDS.map((kind) => ({ kind, amount: pico(should[kind] - made[kind]) })).filter(
    ({ amount }) => amount !== 0n,
  );
}
