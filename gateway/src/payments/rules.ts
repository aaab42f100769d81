/**
 * Computes what a checkout should have moved from its known facts, which arrive in any order, repeatedly and at several gateways.
 * Results do not depend on the order: states only advance, the latest fact about a refund or dispute counts, and a transfer is the
 * difference to what was moved before.
 */
import { type Pico, pico } from "../base/money.ts";
import {
  CHECKOUT_STATES,
  type CheckoutState,
  PAYMENT_MOVE_KINDS,
  type PaymentMoveKind,
  type ReversalKind,
} from "../base/states.ts";
import { inPico, type News } from "./provider.ts";

/** The states stand in the order of what they say about the money. */
export const furthest = (a: CheckoutState, b: CheckoutState): CheckoutState =>
  CHECKOUT_STATES.indexOf(a) >= CHECKOUT_STATES.indexOf(b) ? a : b;

interface Asked {
  reference: string;
  amount: Pico;
  /** The payment that was told before, if one was. */
  payment: string | null;
}

/** What news of a session, or of a payment without one, make of the checkout: `mismatch` unless exactly what was asked for was paid, and by one payment. */
export function judge(asked: Asked, told: Extract<News, { kind: "session" | "intent" }>): CheckoutState {
  if (told.seen !== "paid") return told.seen;
  const paid = told.total === null ? undefined : inPico(told.total);
  const fits = paid === asked.amount && told.reference === asked.reference && told.payment !== null;
  return fits && (asked.payment === null || asked.payment === told.payment) ? "paid" : "mismatch";
}

/**
 * Whether money is unreachable in each status of a refund or dispute. In the order in which they follow each other: of two words
 * from the same second the later one counts.
 */
const MONEY_IS_AWAY: Record<ReversalKind, Record<string, boolean>> = {
  refund: { pending: true, requires_action: true, succeeded: true, canceled: false, failed: false },
  dispute: {
    // An inquiry takes no money; only a dispute that may follow it does.
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

/** Of two words on the same refund or dispute, the one to believe. */
export function newest(a: Reversal, b: Reversal): Reversal {
  const order = Object.keys(MONEY_IS_AWAY[a.kind]);
  const apart = b.asOf.getTime() - a.asOf.getTime() || order.indexOf(b.status) - order.indexOf(a.status);
  if (apart !== 0) return apart > 0 ? b : a;
  return b.amount > a.amount ? b : a;
}

export interface Known {
  state: CheckoutState;
  amount: Pico;
  /** The largest total of refunds that was told. */
  refundedTotal: Pico;
  reversals: Reversal[];
}

/** In the account's eyes: a purchase is positive, a refund negative, a refund that failed positive again. */
export type Sums = Record<PaymentMoveKind, Pico>;

/** What should have been moved. Of a checkout that was never credited nothing is taken back. */
export function due({ state, amount, refundedTotal, reversals }: Known): Sums {
  if (state !== "paid") return { purchase: pico(0n), refund: pico(0n), dispute: pico(0n) };
  const sum = (kind: ReversalKind, away: boolean): bigint =>
    reversals
      .filter((reversal) => reversal.kind === kind && MONEY_IS_AWAY[kind][reversal.status] === away)
      .reduce((total, reversal) => total + reversal.amount, 0n);
  // Refunds are told one by one and as a total, and either may be missing or late. Both are lower bounds of what is unreachable:
  // the total may still hold refunds that failed since.
  const [listed, total] = [sum("refund", true), refundedTotal - sum("refund", false)];
  return {
    purchase: amount,
    refund: pico(-(listed > total ? listed : total)),
    dispute: pico(-sum("dispute", true)),
  };
}

export interface Move {
  kind: PaymentMoveKind;
  amount: Pico;
}

/** What is left to move. Empty when everything was, so that repeats change nothing. */
export function movesLeft(known: Known, made: Sums): Move[] {
  const should = due(known);
  return PAYMENT_MOVE_KINDS.map((kind) => ({ kind, amount: pico(should[kind] - made[kind]) })).filter(
    ({ amount }) => amount !== 0n,
  );
}
