/**
 * The interface to a payment provider: opens checkouts, saves and charges cards, and parses events. Amounts are in the
 * currency's smallest unit.
 */
import { type Pico, pico } from "../base/money.ts";
import type { ReversalKind, TopUpFailure } from "../base/stored-enumerations.ts";

export interface MinorUnitAmount {
  minor: bigint;
  /** The ISO 4217 code in lower case. */
  currency: string;
}

export const CURRENCY = "usd";
const PICO_PER_CENT = 10_000_000_000n;

/** Converts to whole cents. Exact, because every price is a whole number of cents. */
export const toCents = (amount: Pico): MinorUnitAmount => ({ minor: amount / PICO_PER_CENT, currency: CURRENCY });

/**
 * The largest amount that the ledger can store. Events about larger amounts are possible, because the provider's
 * account may also sell other products.
 */
const AMOUNT_MAX = 2n ** 63n - 1n;

/** Undefined if no checkout of this platform can have the amount: another currency, or more than the maximum. */
export function convertToPico({ minor, currency }: MinorUnitAmount): Pico | undefined {
  const amount = minor * PICO_PER_CENT;
  return currency === CURRENCY && amount <= AMOUNT_MAX ? pico(amount) : undefined;
}

export interface CheckoutOrder {
  /** The checkout's ID, `pay_…`, at the provider. It also makes the call idempotent. */
  reference: string;
  /** The account's ID, `acc_…`, for the provider's records. */
  account: string;
  product: string;
  price: Pico;
  successUrl: string;
  cancelUrl: string;
}

export interface OpenedCheckout {
  session: string;
  /** The URL of the payment page. */
  url: string;
}

/** The order for a page that saves a card. */
export type SaveCardOrder = Pick<CheckoutOrder, "reference" | "account" | "successUrl" | "cancelUrl"> & {
  customer: string;
};

/** The display data of a saved card or other payment method. */
export interface SavedPaymentMethod {
  customer: string;
  method: string;
  brand: string;
  last4: string | null;
}

/** A purchase with a saved payment method, without the buyer's presence. `reference` makes the call idempotent. */
export type ChargeOrder = Pick<CheckoutOrder, "reference" | "account" | "product" | "price"> & {
  customer: string;
  method: string;
};

/** The result of a purchase with a saved payment method, from the response or from an event. */
export interface PaymentIntentResult {
  kind: "intent";
  reference: string;
  payment: string | null;
  seen: "pending" | "failed" | "paid";
  total: MinorUnitAmount | null;
  /** The reason if the purchase failed, otherwise null. */
  failure: TopUpFailure | null;
}

/** The URLs of a purchase's receipts; null if the provider has none. */
export interface ReceiptUrls {
  receipt: string | null;
  invoice: string | null;
}

/** The content of an event. `payment` is the provider's payment ID. */
export type PaymentEventContent =
  | {
      kind: "session";
      session: string;
      reference: string | null;
      payment: string | null;
      seen: "pending" | "expired" | "failed" | "paid";
      total: MinorUnitAmount | null;
    }
  | PaymentIntentResult
  /** A card was saved on a page of this platform; `setup` identifies it. */
  | { kind: "setup"; customer: string; setup: string }
  /** The sum of all refunds of a payment so far. */
  | { kind: "refunded"; payment: string; total: MinorUnitAmount }
  | { kind: "reversal"; reversal: ReversalKind; id: string; payment: string; amount: MinorUnitAmount; status: string }
  | { kind: "other" };

export interface ProviderEvent {
  id: string;
  type: string;
  live: boolean;
  occurredAt: Date;
  news: PaymentEventContent;
}

export interface PaymentProvider {
  /** Whether the event is about real money (live mode). */
  live: boolean;
  /** Opens a checkout. If this throws ProviderUnavailable, the buyer has no payment page, so nothing can be paid. */
  openCheckout(order: CheckoutOrder): Promise<OpenedCheckout>;
  /** Returns the provider's customer ID for the account. Throws ProviderUnavailable, like all calls below. */
  openCustomer(account: string): Promise<string>;
  openSetup(order: SaveCardOrder): Promise<{ url: string }>;
  savedMethod(setup: string): Promise<SavedPaymentMethod>;
  /** Removes a saved card. Succeeds even if the provider has already removed it. */
  forgetMethod(method: string): Promise<void>;
  /**
   * Charges a saved card and returns the result. If this throws, the result is unknown, and the same order must be sent
   * again.
   */
  charge(order: ChargeOrder): Promise<PaymentIntentResult>;
  receipts(of: { session: string | null; payment: string }): Promise<ReceiptUrls>;
  /** Parses a webhook. Throws 400 `invalid_signature`, or 400 for a signed event that cannot be parsed. */
  readEvent(body: Buffer, signature: string | undefined): ProviderEvent;
}

/** A call to the provider failed. `details` are safe to log. */
export class ProviderUnavailable extends Error {
  override name = "ProviderUnavailable";
  readonly details: Record<string, unknown>;
  constructor(message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.details = details;
  }
}
