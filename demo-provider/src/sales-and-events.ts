/**
 * The provider's sales, and the events that each action causes. Sessions, refunds and disputes change state as with the
 * real provider, and invalid actions are refused.
 */
import type { Clock } from "@tollgate/protocol/clock.ts";
import {
  buildCharge,
  buildCheckoutSession,
  buildDispute,
  buildPaymentIntent,
  buildRefund,
  type ProviderObject,
} from "./api-objects.ts";
import { newId, type Random } from "./object-ids.ts";
import {
  computeRefundableCents,
  type NewPaymentIntent,
  type NewSale,
  type RefundOrDispute,
  type SaleRecord,
  type SavedCard,
  type TestCardLast4,
} from "./sale-record.ts";

/**
 * Thrown if an action is not possible in the sale's current state. The message is one line for the user, with the
 * reason.
 */
export class ActionRefused extends Error {
  override name = "StepRefused";
}

export class ProviderSales {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #emit: (type: string, object: ProviderObject) => void;
  readonly sales: SaleRecord[];
  readonly cards: SavedCard[];

  constructor(options: {
    clock: Clock;
    random: Random;
    /** The sales of an earlier run, from the state file. */
    sales: SaleRecord[];
    cards?: SavedCard[];
    emit: (type: string, object: ProviderObject) => void;
  }) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#emit = options.emit;
    this.sales = options.sales;
    this.cards = options.cards ?? [];
  }

  newCustomer(): string {
    return this.#newId("cus");
  }

  open(sale: NewSale): SaleRecord {
    const opened: SaleRecord = {
      ...sale,
      ...this.#untouched(),
      session: this.#newId("cs_test"),
      setup: sale.mode === "setup" ? this.#newId("seti") : null,
    };
    this.sales.push(opened);
    return opened;
  }

  /** Saves the card that the customer entered on a page for saving a card without paying. */
  save(sale: SaleRecord, last4: TestCardLast4): SavedCard {
    only(sale, "open");
    if (sale.mode !== "setup" || sale.setup === null) throw new ActionRefused("This page is for paying.");
    sale.state = "saved";
    const card = { id: this.#newId("pm"), setup: sale.setup, customer: sale.customer, last4 };
    sale.method = card.id;
    this.cards.push(card);
    this.#emit("checkout.session.completed", buildCheckoutSession(sale));
    return card;
  }

  /**
   * Charges a saved card at once, without its holder. A repeated call with the same idempotency key returns the same
   * payment.
   */
  charge({ customer, method, idempotencyKey, ...asked }: NewPaymentIntent): SaleRecord {
    const before = this.sales.find((sale) => sale.mode === "intent" && sale.idempotencyKey === idempotencyKey);
    if (before !== undefined && idempotencyKey !== null) return before;
    const card = this.cards.find(({ id }) => id === method);
    if (card === undefined || card.customer !== customer) throw new ActionRefused(`No such PaymentMethod: '${method}'`);
    const payment = this.#newId("pi");
    const about = { mode: "intent" as const, reference: asked.metadata.tollgate_checkout ?? null };
    const where = { session: payment, payment, successUrl: "", cancelUrl: null };
    const sale: SaleRecord = { ...asked, ...this.#untouched(), ...about, ...where, customer, method, idempotencyKey };
    sale.state = card.last4 === "4242" ? "paid" : "failed";
    this.sales.push(sale);
    if (sale.state === "failed") {
      sale.failure = card.last4 === "3155" ? "authentication_required" : "card_declined";
      this.#emit("payment_intent.payment_failed", buildPaymentIntent(sale));
      return sale;
    }
    this.#charge(sale);
    this.#emit("charge.succeeded", buildCharge(sale));
    this.#emit("payment_intent.succeeded", buildPaymentIntent(sale));
    return sale;
  }

  /** Finds a card by its ID or by its setup. */
  card(name: string): SavedCard | undefined {
    return this.cards.find(({ id, setup }) => id === name || setup === name);
  }

  find(session: string): SaleRecord | undefined {
    return this.sales.find((sale) => sale.session === session);
  }

  pay(sale: SaleRecord): void {
    only(sale, "open");
    if (sale.mode !== "payment") throw new ActionRefused("Nothing is paid on this page.");
    sale.state = "paid";
    this.#charge(sale);
    this.#emit("charge.succeeded", buildCharge(sale));
    this.#emit("checkout.session.completed", buildCheckoutSession(sale));
  }

  /** Completes a checkout whose money has not arrived yet, as with a bank transfer. */
  payLater(sale: SaleRecord): void {
    only(sale, "open");
    sale.state = "pending";
    sale.payment = this.#newId("pi");
    this.#emit("checkout.session.completed", buildCheckoutSession(sale));
  }

  /** Marks a pending payment as paid, as when a bank transfer arrives. */
  arrive(sale: SaleRecord): void {
    only(sale, "pending");
    sale.state = "paid";
    this.#charge(sale);
    this.#emit("charge.succeeded", buildCharge(sale));
    this.#emit("checkout.session.async_payment_succeeded", buildCheckoutSession(sale));
  }

  /** Marks a pending payment as failed, as when a bank transfer does not arrive. */
  fail(sale: SaleRecord): void {
    only(sale, "pending");
    sale.state = "failed";
    this.#emit("checkout.session.async_payment_failed", buildCheckoutSession(sale));
  }

  expire(sale: SaleRecord): void {
    only(sale, "open");
    sale.state = "expired";
    this.#emit("checkout.session.expired", buildCheckoutSession(sale));
  }

  refund(sale: SaleRecord, cents = computeRefundableCents(sale)): RefundOrDispute {
    only(sale, "paid");
    const left = computeRefundableCents(sale);
    if (!Number.isInteger(cents) || cents < 1 || cents > left) {
      throw new ActionRefused(`A refund must be from 1 to ${left} cents.`);
    }
    const refund = { id: this.#newId("re"), cents, status: "succeeded" };
    sale.refunds.push(refund);
    this.#emit("refund.created", buildRefund(sale, refund));
    this.#emit("charge.refunded", buildCharge(sale));
    return refund;
  }

  /** Marks a refund as failed, as when the buyer's bank rejects it. */
  failRefund(sale: SaleRecord, refund: RefundOrDispute): void {
    if (refund.status !== "succeeded") throw new ActionRefused("This refund has failed already.");
    refund.status = "failed";
    this.#emit("refund.failed", buildRefund(sale, refund));
  }

  dispute(sale: SaleRecord): RefundOrDispute {
    only(sale, "paid");
    if (sale.disputes.length > 0) throw new ActionRefused("This payment is or was disputed already.");
    const dispute = { id: this.#newId("du"), cents: sale.cents, status: "needs_response" };
    sale.disputes.push(dispute);
    this.#emit("charge.dispute.created", buildDispute(sale, dispute));
    this.#emit("charge.dispute.funds_withdrawn", buildDispute(sale, dispute));
    return dispute;
  }

  closeDispute(sale: SaleRecord, dispute: RefundOrDispute, result: "won" | "lost"): void {
    if (dispute.status !== "needs_response") throw new ActionRefused("This dispute is closed.");
    dispute.status = result;
    if (result === "won") this.#emit("charge.dispute.funds_reinstated", buildDispute(sale, dispute));
    this.#emit("charge.dispute.closed", buildDispute(sale, dispute));
  }

  #untouched() {
    return {
      created: this.#now(),
      state: "open" as SaleRecord["state"],
      payment: null,
      charge: null,
      refunds: [],
      disputes: [],
      setup: null,
      method: null,
      failure: null,
      idempotencyKey: null,
    };
  }

  #charge(sale: SaleRecord): void {
    sale.payment ??= this.#newId("pi");
    sale.charge = this.#newId("ch");
  }

  #newId(prefix: string): string {
    return newId(this.#random, prefix);
  }

  #now(): number {
    return Math.floor(this.#clock.now() / 1000);
  }
}

function only(sale: SaleRecord, state: SaleRecord["state"]): void {
  if (sale.state !== state) throw new ActionRefused(`This checkout is ${sale.state}, not ${state}.`);
}
