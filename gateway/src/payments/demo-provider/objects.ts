/** The provider's API objects, with the fields that it documents and integrations read. */
import { type Reversal, refunded, type Sale } from "./sale.ts";

export type EventObject = { id: string; object: string } & Record<string, unknown>;

const SESSION_S_MAX = 24 * 60 * 60;

export function sessionObject(sale: Sale, url: string | null = null): EventObject {
  const completed = sale.state !== "open" && sale.state !== "expired";
  return {
    id: sale.session,
    object: "checkout.session",
    amount_subtotal: sale.cents,
    amount_total: sale.cents,
    cancel_url: sale.cancelUrl,
    client_reference_id: sale.reference,
    created: sale.created,
    currency: sale.currency,
    expires_at: sale.created + SESSION_S_MAX,
    livemode: false,
    metadata: sale.metadata,
    mode: "payment",
    payment_intent: sale.payment,
    payment_status: sale.state === "paid" ? "paid" : "unpaid",
    status: completed ? "complete" : sale.state,
    success_url: sale.successUrl,
    url: sale.state === "open" ? url : null,
  };
}

export function chargeObject(sale: Sale): EventObject {
  const away = refunded(sale);
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

export const refundObject = (sale: Sale, refund: Reversal): EventObject => ({
  ...reversalObject(sale, refund, "refund"),
  ...(refund.status === "failed" && { failure_reason: "expired_or_canceled_card" }),
});

export const disputeObject = (sale: Sale, dispute: Reversal): EventObject => ({
  ...reversalObject(sale, dispute, "dispute"),
  livemode: false,
  reason: "fraudulent",
});

function reversalObject(sale: Sale, { id, cents, status }: Reversal, object: string): EventObject {
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
