/**
 * What a payment provider knows of its sales, and the events that each step sends. Sessions, refunds and disputes move as
 * the real provider's do; a step that their state does not allow is refused.
 */
import type { Clock } from "../../base/clock.ts";
import { base62 } from "../../base/ids.ts";
import type { Random } from "../../base/random.ts";
import { chargeObject, disputeObject, type EventObject, refundObject, sessionObject } from "./objects.ts";
import { type NewSale, type Reversal, refundable, type Sale } from "./sale.ts";

/** The step is not possible now. One line that a person can act on. */
export class StepRefused extends Error {
  override name = "StepRefused";
}

export class Shop {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #emit: (type: string, object: EventObject) => void;
  readonly sales: Sale[];

  constructor(options: {
    clock: Clock;
    random: Random;
    /** Sales of an earlier run. */
    sales: Sale[];
    emit: (type: string, object: EventObject) => void;
  }) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#emit = options.emit;
    this.sales = options.sales;
  }

  open(sale: NewSale): Sale {
    const opened: Sale = {
      ...sale,
      session: this.#newId("cs_test"),
      created: this.#now(),
      state: "open",
      payment: null,
      charge: null,
      refunds: [],
      disputes: [],
    };
    this.sales.push(opened);
    return opened;
  }

  find(session: string): Sale | undefined {
    return this.sales.find((sale) => sale.session === session);
  }

  pay(sale: Sale): void {
    only(sale, "open");
    sale.state = "paid";
    this.#charge(sale);
    this.#emit("charge.succeeded", chargeObject(sale));
    this.#emit("checkout.session.completed", sessionObject(sale));
  }

  /** As with a bank transfer: the buyer is done, the money is not there. */
  payLater(sale: Sale): void {
    only(sale, "open");
    sale.state = "pending";
    sale.payment = this.#newId("pi");
    this.#emit("checkout.session.completed", sessionObject(sale));
  }

  /** The money of a payment that was promised has come. */
  arrive(sale: Sale): void {
    only(sale, "pending");
    sale.state = "paid";
    this.#charge(sale);
    this.#emit("charge.succeeded", chargeObject(sale));
    this.#emit("checkout.session.async_payment_succeeded", sessionObject(sale));
  }

  /** The money of a payment that was promised will not come. */
  fail(sale: Sale): void {
    only(sale, "pending");
    sale.state = "failed";
    this.#emit("checkout.session.async_payment_failed", sessionObject(sale));
  }

  expire(sale: Sale): void {
    only(sale, "open");
    sale.state = "expired";
    this.#emit("checkout.session.expired", sessionObject(sale));
  }

  refund(sale: Sale, cents = refundable(sale)): Reversal {
    only(sale, "paid");
    const left = refundable(sale);
    if (!Number.isInteger(cents) || cents < 1 || cents > left) {
      throw new StepRefused(`A refund must be from 1 to ${left} cents.`);
    }
    const refund = { id: this.#newId("re"), cents, status: "succeeded" };
    sale.refunds.push(refund);
    this.#emit("refund.created", refundObject(sale, refund));
    this.#emit("charge.refunded", chargeObject(sale));
    return refund;
  }

  /** The buyer's bank sent a refund back. */
  failRefund(sale: Sale, refund: Reversal): void {
    if (refund.status !== "succeeded") throw new StepRefused("This refund has failed already.");
    refund.status = "failed";
    this.#emit("refund.failed", refundObject(sale, refund));
  }

  dispute(sale: Sale): Reversal {
    only(sale, "paid");
    if (sale.disputes.length > 0) throw new StepRefused("This payment is or was disputed already.");
    const dispute = { id: this.#newId("du"), cents: sale.cents, status: "needs_response" };
    sale.disputes.push(dispute);
    this.#emit("charge.dispute.created", disputeObject(sale, dispute));
    this.#emit("charge.dispute.funds_withdrawn", disputeObject(sale, dispute));
    return dispute;
  }

  closeDispute(sale: Sale, dispute: Reversal, result: "won" | "lost"): void {
    if (dispute.status !== "needs_response") throw new StepRefused("This dispute is closed.");
    dispute.status = result;
    if (result === "won") this.#emit("charge.dispute.funds_reinstated", disputeObject(sale, dispute));
    this.#emit("charge.dispute.closed", disputeObject(sale, dispute));
  }

  #charge(sale: Sale): void {
    sale.payment ??= this.#newId("pi");
    sale.charge = this.#newId("ch");
  }

  #newId(prefix: string): string {
    return `${prefix}_${base62(this.#random, 24)}`;
  }

  #now(): number {
    return Math.floor(this.#clock.now() / 1000);
  }
}

function only(sale: Sale, state: Sale["state"]): void {
  if (sale.state !== state) throw new StepRefused(`This checkout is ${sale.state}, not ${state}.`);
}
