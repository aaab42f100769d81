/**
 * Implements the payment provider's interface with Stripe's official library. Imported only if payments are configured,
 * because loading it takes 250 ms and 30 MB.
 */
import type Stripe from "stripe";
import type { Clock } from "../base/clock.ts";
import { fault, invalidRequest } from "../faults.ts";
import {
  type CheckoutOrder,
  type OpenedCheckout,
  type PaymentProvider,
  ProviderUnavailable,
  toCents,
} from "./payment-provider.ts";
import { stripeClient, toProviderUnavailable } from "./stripe-client.ts";
import { readStripeEvent } from "./stripe-events.ts";
import { stripeSavedMethods } from "./stripe-payment-methods.ts";
import { stripeReceipts } from "./stripe-receipts.ts";

/**
 * Short limits, because a person waits. A call may take this long and is repeated at most once; everything ends by the
 * deadline.
 */
const CALL_MS_MAX = 6_000;
const DEADLINE_MS = 15_000;
/** An older webhook counts as a replay attack. */
const SIGNATURE_AGE_S_MAX = 300;

export interface StripeOptions {
  secretKey: string;
  /** The secrets that may have signed an event. */
  webhookSecrets: string[];
  /** Undefined means Stripe's own API. */
  apiBase: string | undefined;
  /** Whether Stripe creates an invoice for every paid checkout, for a fee. */
  invoices?: boolean;
  clock: Clock;
  callMsMax?: number;
  deadlineMs?: number;
}

export function stripeProvider(options: StripeOptions): PaymentProvider {
  const { secretKey, webhookSecrets, clock, callMsMax = CALL_MS_MAX, deadlineMs = DEADLINE_MS } = options;
  const live = /^[a-z]+_live_/.test(secretKey);
  const stripe = stripeClient({ secretKey, apiBase: options.apiBase, callMsMax });
  const invoices = options.invoices ?? false;
  const asked = <T>(work: Promise<T>): Promise<T> =>
    within(clock, deadlineMs, work).catch((error) => {
      throw toProviderUnavailable(error);
    });
  return {
    live,
    async openCheckout(order) {
      const session = sessionOf(order, invoices);
      const opening = stripe.checkout.sessions.create(session, { idempotencyKey: order.reference });
      return opened(await asked(opening), { order, live });
    },
    ...stripeSavedMethods({ stripe, live, asked, within: (work) => within(clock, deadlineMs, work) }),
    receipts: stripeReceipts({ stripe, invoices, asked }),
    readEvent(body, signature = "") {
      const [age, now] = [SIGNATURE_AGE_S_MAX, clock.now()];
      const checks = webhookSecrets.map(
        (secret) => () => stripe.webhooks.constructEvent(body, signature, secret, age, undefined, now),
      );
      const event = verified(checks);
      // Rejects future timestamps here, because the library rejects only old ones.
      if (signedAt(signature) - now / 1000 > age) throw fault("invalid_signature");
      return readStripeEvent(event);
    },
  };
}

function sessionOf(order: CheckoutOrder, invoices: boolean) {
  const { reference, account, product, price, successUrl, cancelUrl } = order;
  const { minor, currency } = toCents(price);
  const metadata = { tollgate_checkout: reference, tollgate_account: account };
  return {
    mode: "payment",
    client_reference_id: reference,
    line_items: [
      { quantity: 1, price_data: { currency, unit_amount: Number(minor), product_data: { name: product } } },
    ],
    // Disables conversion to local currencies, because the paid amount must equal the price to the cent.
    adaptive_pricing: { enabled: false },
    success_url: successUrl,
    cancel_url: cancelUrl,
    metadata,
    payment_intent_data: { metadata },
    ...(invoices && { invoice_creation: { enabled: true } }),
  } as const satisfies Stripe.Checkout.SessionCreateParams;
}

/** Returns the opened session, or an error: the URL is passed on only if the session has the ordered price. */
function opened(
  session: Stripe.Checkout.Session,
  { order, live }: { order: CheckoutOrder; live: boolean },
): OpenedCheckout {
  const { id, url, livemode, amount_total: total, currency, client_reference_id: reference } = session;
  const price = toCents(order.price);
  const protocol = typeof url === "string" ? URL.parse(url)?.protocol : undefined;
  const asAsked =
    typeof id === "string" &&
    (protocol === "https:" || protocol === "http:") &&
    livemode === live &&
    reference === order.reference &&
    currency === price.currency &&
    total === Number(price.minor);
  if (!asAsked) {
    throw new ProviderUnavailable("the checkout session in the response does not match the request", {
      session: id,
      livemode,
      total,
      currency,
    });
  }
  return { session: id, url: url as string };
}

async function within<T>(clock: Clock, deadlineMs: number, work: Promise<T>): Promise<T> {
  let stop = (): void => undefined;
  const late = new Promise<never>((_resolve, reject) => {
    stop = clock.after(deadlineMs, () =>
      reject(new ProviderUnavailable("the payment provider did not respond in time", { deadline_ms: deadlineMs })),
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    stop();
  }
}

/** The time in the signature header, in Unix seconds: `t=1763188200,v1=…`. */
const signedAt = (signature: string): number => Number(/(?:^|,)t=(\d+)/.exec(signature)?.[1] ?? 0);

const isOfSignature = (error: unknown): boolean =>
  (error as { type?: unknown }).type === "StripeSignatureVerificationError";

/** Verifies the signature with one secret after the other. An error after a valid signature concerns the body. */
function verified([check, ...others]: (() => unknown)[]): unknown {
  try {
    return check?.();
  } catch (cause) {
    if (others.length > 0 && isOfSignature(cause)) return verified(others);
    if (cause instanceof SyntaxError) throw invalidRequest(null, "The body must be valid JSON.", cause);
    if (cause instanceof Error && cause.message.includes("thin event")) {
      throw invalidRequest(
        "object",
        "This endpoint accepts snapshot events, not thin events. Change the payload style of the webhook endpoint in Stripe.",
        cause,
      );
    }
    throw fault("invalid_signature", { cause });
  }
}
