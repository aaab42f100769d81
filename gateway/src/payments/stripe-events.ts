/**
 * Parses Stripe's events. It reads only a few fields, because others depend on the API version of the webhook endpoint.
 * An event about money that cannot be parsed is refused, so that Stripe shows it as failed and sends it again.
 */
import { z } from "zod";
import type { ReversalKind } from "../base/stored-enumerations.ts";
import { invalidRequest } from "../faults.ts";
import type { MinorUnitAmount, PaymentEventContent, PaymentIntentResult, ProviderEvent } from "./payment-provider.ts";
import { isKnownStatus } from "./payment-rules.ts";

const ID_CHARS_MAX = 255;
const Id = z.string().min(1).max(ID_CHARS_MAX);
const Minor = z.int().nonnegative();

const Envelope = z.object({
  object: z.literal("event"),
  id: Id,
  type: Id,
  created: z.int().nonnegative(),
  livemode: z.boolean(),
  data: z.object({ object: z.unknown() }),
});

const Session = z.object({
  id: Id,
  client_reference_id: z.string().nullable(),
  payment_intent: Id.nullable(),
  payment_status: z.enum(["paid", "unpaid", "no_payment_required"]),
  amount_total: Minor.nullable(),
  currency: z.string().nullable(),
});
/** A session that saved a card, without a payment. */
const Setup = z.object({ mode: z.literal("setup"), customer: Id, setup_intent: Id });
/** The purchase's ID is in the metadata, because a purchase with a saved card has no session. */
const Intent = z.object({
  id: Id,
  status: z.string(),
  amount_received: Minor,
  currency: z.string(),
  metadata: z.record(z.string(), z.string()),
  last_payment_error: z.object({ code: z.string().nullish() }).nullish(),
});
const Charge = z.object({ payment_intent: Id.nullable(), amount_refunded: Minor, currency: z.string() });
const Reversal = z.object({
  id: Id,
  payment_intent: Id.nullable(),
  amount: Minor,
  currency: z.string(),
  status: z.string().nullable(),
});

type Read = (object: unknown) => PaymentEventContent;

/** Events about money; all others are ignored. */
const READERS: Record<string, Read> = {
  "checkout.session.completed": (object) => session(object, "completed"),
  "checkout.session.async_payment_succeeded": (object) => session(object, "completed"),
  "checkout.session.async_payment_failed": (object) => session(object, "failed"),
  "checkout.session.expired": (object) => session(object, "expired"),
  "payment_intent.succeeded": intent,
  "payment_intent.processing": intent,
  "payment_intent.payment_failed": intent,
  "payment_intent.canceled": intent,
  "charge.refunded": refunded,
  "charge.refund.updated": (object) => reversal(object, "refund"),
  "refund.created": (object) => reversal(object, "refund"),
  "refund.updated": (object) => reversal(object, "refund"),
  "refund.failed": (object) => reversal(object, "refund"),
  "charge.dispute.created": (object) => reversal(object, "dispute"),
  "charge.dispute.updated": (object) => reversal(object, "dispute"),
  "charge.dispute.closed": (object) => reversal(object, "dispute"),
  "charge.dispute.funds_withdrawn": (object) => reversal(object, "dispute"),
  "charge.dispute.funds_reinstated": (object) => reversal(object, "dispute"),
};

/** The event types to which the webhook endpoint must subscribe. */
export const EVENT_TYPES = Object.keys(READERS);

export function readStripeEvent(event: unknown): ProviderEvent {
  const { id, type, created, livemode, data } = parse(Envelope, event, "");
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  const news: PaymentEventContent = read === undefined ? { kind: "other" } : read(data.object);
  return { id, type, live: livemode, occurredAt: new Date(created * 1000), news };
}

function session(object: unknown, told: "completed" | "failed" | "expired"): PaymentEventContent {
  const setup = Setup.safeParse(object);
  if (setup.success) {
    const { customer, setup_intent: id } = setup.data;
    return told === "completed" ? { kind: "setup", customer, setup: id } : { kind: "other" };
  }
  const read = parse(Session, object);
  // A completed session is not always paid: a bank transfer may take days.
  const completed = read.payment_status === "unpaid" ? "pending" : "paid";
  const total = read.amount_total === null || read.currency === null ? null : money(read.amount_total, read.currency);
  return {
    kind: "session",
    session: read.id,
    reference: read.client_reference_id,
    payment: read.payment_intent,
    seen: told === "completed" ? completed : told,
    total,
  };
}

function intent(object: unknown): PaymentEventContent {
  return readIntentResult(object) ?? { kind: "other" };
}

/** The result of a payment by its status. Undefined for another product's payment. */
export function readIntentResult(object: unknown): PaymentIntentResult | undefined {
  const {
    id,
    status,
    amount_received: received,
    currency,
    metadata,
    last_payment_error: error,
  } = parse(Intent, object);
  const { tollgate_checkout: reference } = metadata;
  if (reference === undefined) return undefined;
  // A status that requires the buyer counts as failed, because no buyer is present.
  const seen = status === "succeeded" ? "paid" : status === "processing" ? "pending" : "failed";
  const needsPerson = status === "requires_action" || error?.code === "authentication_required";
  const failure = needsPerson ? "authentication_required" : "declined";
  const total = seen === "paid" ? money(received, currency) : null;
  return { kind: "intent", reference, payment: id, seen, total, failure: seen === "failed" ? failure : null };
}

function refunded(object: unknown): PaymentEventContent {
  const { payment_intent: payment, amount_refunded: amount, currency } = parse(Charge, object);
  // A charge without a payment intent belongs to another product, because every checkout's payment has one.
  return payment === null ? { kind: "other" } : { kind: "refunded", payment, total: money(amount, currency) };
}

function reversal(object: unknown, kind: ReversalKind): PaymentEventContent {
  const { id, payment_intent: payment, amount, currency, status } = parse(Reversal, object);
  if (payment === null) return { kind: "other" };
  if (status === null || !isKnownStatus(kind, status)) {
    throw invalidRequest("data.object.status", `data.object.status is not a known status of a ${kind}.`);
  }
  return { kind: "reversal", reversal: kind, id, payment, amount: money(amount, currency), status };
}

const money = (minor: number, currency: string): MinorUnitAmount => ({ minor: BigInt(minor), currency });

function parse<T extends z.ZodType>(schema: T, value: unknown, place = "data.object."): z.infer<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0] as z.core.$ZodIssue;
  const field = `${place}${issue.path.join(".")}`;
  throw invalidRequest(field, `${field}: ${issue.message}`, result.error);
}
