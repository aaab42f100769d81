/** The provider's API objects, with the documented fields that integrations read. */
import { computeRefundedCents, type RefundOrDispute, type SaleRecord, type SavedCard } from "./sale-record.ts";

export type ProviderObject = { id: string; object: string } & Record<string, unknown>;

const SESSION_S_MAX = 24 * 60 * 60;

export function buildCheckoutSession(sale: SaleRecord, url: string | null = null): ProviderObject {
  const completed = sale.state !== "open" && sale.state !== "expired";
  const isSetup = sale.mode === "setup";
  return {
    id: sale.session,
    object: "checkout.session",
    amount_subtotal: isSetup ? null : sale.cents,
    amount_total: isSetup ? null : sale.cents,
    cancel_url: sale.cancelUrl,
    client_reference_id: sale.reference,
    created: sale.created,
    currency: isSetup ? null : sale.currency,
    customer: sale.customer,
    expires_at: sale.created + SESSION_S_MAX,
    livemode: false,
    metadata: sale.metadata,
    mode: sale.mode,
    payment_intent: sale.payment,
    payment_status: isSetup ? "no_payment_required" : sale.state === "paid" ? "paid" : "unpaid",
    setup_intent: sale.setup,
    status: completed ? "complete" : sale.state,
    success_url: sale.successUrl,
    url: sale.state === "open" ? url : null,
  };
}

/** A payment object. `more`: fields of related objects that the request asked to expand. */
export function buildPaymentIntent(sale: SaleRecord, more: object = {}): ProviderObject {
  const paid = sale.state === "paid";
  return {
    id: sale.payment as string,
    object: "payment_intent",
    amount: sale.cents,
    amount_received: paid ? sale.cents : 0,
    created: sale.created,
    currency: sale.currency,
    customer: sale.customer,
    last_payment_error: sale.failure === null ? null : { type: "card_error", code: sale.failure },
    latest_charge: sale.charge,
    livemode: false,
    metadata: sale.metadata,
    payment_method: sale.method,
    status: paid ? "succeeded" : "requires_payment_method",
    ...more,
  };
}

export const buildPaymentMethod = ({ id, customer, last4 }: SavedCard): ProviderObject => ({
  id,
  object: "payment_method",
  type: "card",
  card: { brand: "visa", last4, exp_month: 12, exp_year: 2034 },
  customer,
  livemode: false,
});

export const buildSetupIntent = (card: SavedCard): ProviderObject => ({
  id: card.setup,
  object: "setup_intent",
  customer: card.customer,
  livemode: false,
  payment_method: buildPaymentMethod(card),
  status: "succeeded",
});

export function buildCharge(sale: SaleRecord): ProviderObject {
  const away = computeRefundedCents(sale);
  return {
    id: sale.charge as string,
    object: "charge",
    amount: sale.cents,
    amount_captured: sale.cents,
    amount_refunded: away,
    currency: sale.currency,
    disputed: sale.disputes.length > 0,
    livemode: false,
    metadata: sale.metadata,
    paid: true,
    payment_intent: sale.payment,
    refunded: away === sale.cents,
    status: "succeeded",
  };
}

export const buildRefund = (sale: SaleRecord, refund: RefundOrDispute): ProviderObject => ({
  ...reversalObject(sale, refund, "refund"),
  ...(refund.status === "failed" && { failure_reason: "expired_or_canceled_card" }),
});

export const buildDispute = (sale: SaleRecord, dispute: RefundOrDispute): ProviderObject => ({
  ...reversalObject(sale, dispute, "dispute"),
  livemode: false,
  reason: "fraudulent",
});

function reversalObject(sale: SaleRecord, { id, cents, status }: RefundOrDispute, object: string): ProviderObject {
  return {
    id,
    object,
    amount: cents,
    charge: sale.charge,
    currency: sale.currency,
    metadata: {},
    payment_intent: sale.payment,
    status,
  };
}
