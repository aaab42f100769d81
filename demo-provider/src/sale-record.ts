/**
 * A sale (a checkout session, or a payment without a page) with its state, and saved cards. Both are stored as JSON.
 */
export interface RefundOrDispute {
  id: string;
  cents: number;
  status: string;
}

/**
 * The result of charging a saved card without its holder, by the card's last digits. The numbers are the provider's own
 * test cards.
 */
export const TEST_CARDS = {
  "4242": "works",
  "0341": "is declined when it is charged",
  "3155": "asks its holder to confirm every payment",
} as const;
export type TestCardLast4 = keyof typeof TEST_CARDS;

export interface SavedCard {
  id: string;
  /** The ID of the setup that saved the card. */
  setup: string;
  /** The customer who owns the card. Null once the card was removed. */
  customer: string | null;
  last4: TestCardLast4;
}

export interface SaleRecord {
  /**
   * `setup`: only saves a card. `intent`: charges a saved card without a page, so its `session` is the ID of the
   * payment instead of a checkout session.
   */
  mode: "payment" | "setup" | "intent";
  customer: string | null;
  /** `setup`: the setup's ID, if this sale saves a card. `method`: the card that an intent charges. */
  setup: string | null;
  method: string | null;
  /** The reason why an intent failed. */
  failure: string | null;
  /** A repeated call with the same key returns the same payment, also after a restart. */
  idempotencyKey: string | null;
  session: string;
  reference: string | null;
  product: string;
  cents: number;
  currency: string;
  successUrl: string;
  cancelUrl: string | null;
  metadata: Record<string, string>;
  created: number;
  state: "open" | "pending" | "paid" | "failed" | "expired" | "saved";
  payment: string | null;
  charge: string | null;
  refunds: RefundOrDispute[];
  disputes: RefundOrDispute[];
}

export type NewSale = Pick<
  SaleRecord,
  "mode" | "customer" | "reference" | "product" | "cents" | "currency" | "successUrl" | "cancelUrl" | "metadata"
>;

export type NewPaymentIntent = Pick<SaleRecord, "product" | "cents" | "currency" | "metadata" | "idempotencyKey"> & {
  customer: string;
  method: string;
};

export const computeRefundedCents = ({ refunds }: SaleRecord): number =>
  refunds.filter(({ status }) => status !== "failed").reduce((sum, { cents }) => sum + cents, 0);

export const computeRefundableCents = (sale: SaleRecord): number => sale.cents - computeRefundedCents(sale);
