/**
 * The payment provider's port: opens checkouts, saves and charges cards, and parses events. Amounts are in the currency's smallest
 * unit.
 */
import { type Pico, pico } from "../base/money.ts";
import type { ReversalKind, TopUpFailure } from "../base/states.ts";

export interface Money {
  minor: bigint;
  /** ISO 4217, lower case. */
  currency: string;
}

export const CURRENCY = "usd";
const PICO_PER_CENT = 10_000_000_000n;

/** What a checkout asks for; every price is a whole number of cents. */
export const inCents = (amount: Pico): Money => ({ minor: amount / PICO_PER_CENT, currency: CURRENCY });

/** What one amount in the ledger can be; other products of the same provider's account may sell for more. */
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

/** A page on which a card is saved for later. */
export type SetupOrder = Pick<CheckoutOrder, "reference" | "account" | "successUrl" | "cancelUrl"> & {
  customer: string;
};

/** Of a saved card, or what else is saved in its place, what people know it by. */
export interface SavedMethod {
  customer: string;
  method: string;
  brand: string;
  last4: string | null;
}

/** A purchase with a saved method, no one being there. `reference` makes repeats of the call one purchase. */
export type ChargeOrder = Pick<CheckoutOrder, "reference" | "account" | "product" | "price"> & {
  customer: string;
  method: string;
};

/** What became of a purchase without a page, by the answer to it or by an event. */
export interface IntentNews {
  kind: "intent";
  reference: string;
  payment: string | null;
  seen: "pending" | "failed" | "paid";
  total: Money | null;
  /** Why, where it failed. */
  failure: TopUpFailure | null;
}

/** Where the buyer finds what was paid; null where the provider has none. */
export interface ReceiptUrls {
  receipt: string | null;
  invoice: string | null;
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
  | IntentNews
  /** A card was saved on a page of ours. `setup` leads to it. */
  | { kind: "setup"; customer: string; setup: string }
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
  /** What the provider knows the account by from now on. Throws ProviderUnavailable, as all of these do. */
  openCustomer(account: string): Promise<string>;
  openSetup(order: SetupOrder): Promise<{ url: string }>;
  savedMethod(setup: string): Promise<SavedMethod>;
  /** Done as well where the provider has forgotten it before. */
  forgetMethod(method: string): Promise<void>;
  /** Whether the money came. Where this throws no one knows, and the same order is to be asked again. */
  charge(order: ChargeOrder): Promise<IntentNews>;
  receipts(of: { session: string | null; payment: string }): Promise<ReceiptUrls>;
  /** Throws a fault: 400 `invalid_signature`, or 400 for what is signed but cannot be read. */
  readEvent(body: Buffer, signature: string | undefined): ProviderEvent;
}

/** The provider did not do what it was asked. `details` are safe to log. */
export class ProviderUnavailable extends Error {
  override name = "ProviderUnavailable";
  readonly details: Record<string, unknown>;
  constructor(message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.details = details;
  }
}
