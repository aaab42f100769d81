/**
 * The payment provider as the rest of the folder sees it: it opens checkouts, and what it sends us afterwards is read into
 * news. Amounts are in the currency's smallest unit, as providers count.
 */
import { type Pico, pico } from "../base/money.ts";
import type { ReversalKind } from "../base/states.ts";

export interface Money {
  minor: bigint;
  /** ISO 4217, lower case. */
  currency: string;
}

const CURRENCY = "usd";
const PICO_PER_CENT = 10_000_000_000n;

/** What a checkout asks for; every price is a whole number of cents. */
export const inCents = (amount: Pico): Money => ({ minor: amount / PICO_PER_CENT, currency: CURRENCY });

/** What one amount in the books can be; other products of the same provider's account may sell for more. */
const AMOUNT_MAX = 2n ** 63n - 1n;

/** Undefined for what no checkout of ours can be paid with: another currency, which is never converted, or too much. */
export function inPico({ minor, currency }: Money): Pico | undefined {
  const amount = minor * PICO_PER_CENT;
  return currency === CURRENCY && amount <= AMOUNT_MAX ? pico(amount) : undefined;
}

export interface CheckoutOrder {
  /** `pay_…`: names the checkout at the provider, and makes repeats of this call one. */
  reference: string;
  /** `acc_…`, for the provider's records. */
  account: string;
  product: string;
  price: Pico;
  successUrl: string;
  cancelUrl: string;
}

export interface OpenedCheckout {
  session: string;
  /** Where the buyer pays. */
  url: string;
}

/** What an event tells, in our words. `payment` is the provider's id of the payment. */
export type News =
  | {
      kind: "session";
      session: string;
      reference: string | null;
      payment: string | null;
      seen: "pending" | "expired" | "failed" | "paid";
      total: Money | null;
    }
  /** All refunds of a payment until then, together. */
  | { kind: "refunded"; payment: string; total: Money }
  | { kind: "reversal"; reversal: ReversalKind; id: string; payment: string; amount: Money; status: string }
  | { kind: "other" };

export interface ProviderEvent {
  id: string;
  type: string;
  live: boolean;
  occurredAt: Date;
  news: News;
}

export interface PaymentProvider {
  /** Whether it moves real money. */
  live: boolean;
  /** Throws ProviderUnavailable; then nothing can be paid. */
  openCheckout(order: CheckoutOrder): Promise<OpenedCheckout>;
  /** Throws a fault: 400 `invalid_signature`, or 400 for what is signed but cannot be read. */
  readEvent(body: Buffer, signature: string | undefined): ProviderEvent;
}

/** The provider did not open a checkout. `details` are safe to log. */
export class ProviderUnavailable extends Error {
  override name = "ProviderUnavailable";
  readonly details: Record<string, unknown>;
  constructor(message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.details = details;
  }
}
