/** Saves cards at Stripe and charges them without the buyer. The gateway stores only brand and last four digits. */
import Stripe from "stripe";
import type { TopUpFailure } from "../base/stored-enumerations.ts";
import {
  type ChargeOrder,
  CURRENCY,
  type PaymentIntentResult,
  type PaymentProvider,
  ProviderUnavailable,
  type SaveCardOrder,
  type SavedPaymentMethod,
  toCents,
} from "./payment-provider.ts";
import { toProviderUnavailable } from "./stripe-client.ts";
import { readIntentResult } from "./stripe-events.ts";

interface SavedMethodsOptions {
  stripe: Stripe;
  live: boolean;
  /** Waits for a call until the deadline, and throws ProviderUnavailable for any error. */
  asked: <T>(work: Promise<T>) => Promise<T>;
  /** Waits for a call until the deadline, and passes on the library's own errors. */
  within: <T>(work: Promise<T>) => Promise<T>;
}

export function stripeSavedMethods({
  stripe,
  live,
  asked,
  within,
}: SavedMethodsOptions): Pick<
  PaymentProvider,
  "openCustomer" | "openSetup" | "savedMethod" | "forgetMethod" | "charge"
> {
  return {
    async openCustomer(account) {
      const metadata = { tollgate_account: account };
      return (await asked(stripe.customers.create({ metadata }, { idempotencyKey: `customer ${account}` }))).id;
    },

    async openSetup(order) {
      const opening = stripe.checkout.sessions.create(setupOf(order), { idempotencyKey: order.reference });
      const { url, livemode } = await asked(opening);
      const protocol = typeof url === "string" ? URL.parse(url)?.protocol : undefined;
      if (livemode !== live || (protocol !== "https:" && protocol !== "http:")) {
        throw new ProviderUnavailable("the checkout session in the response does not match the request", { livemode });
      }
      return { url: url as string };
    },

    async savedMethod(setup) {
      const { customer, payment_method: method } = await asked(
        stripe.setupIntents.retrieve(setup, { expand: ["payment_method"] }),
      );
      if (customer === null || method === null || typeof method === "string") {
        throw new ProviderUnavailable("the card setup ended without a payment method", { setup });
      }
      return { customer: idOf(customer), method: method.id, ...nameOf(method) };
    },

    async forgetMethod(method) {
      await within(stripe.paymentMethods.detach(method)).catch((error) => {
        // The card was already removed or never existed, so nothing is left to do.
        if (error instanceof Stripe.errors.StripeInvalidRequestError) return;
        throw toProviderUnavailable(error);
      });
    },

    async charge(order) {
      const asking = stripe.paymentIntents.create(intentOf(order), { idempotencyKey: order.reference });
      try {
        const intent = await within(asking);
        if (intent.livemode !== live)
          throw new ProviderUnavailable("the mode (live or test) of Stripe's response is not the gateway's", {
            intent: intent.id,
          });
        return readIntentResult(intent) ?? unreadable(intent.id);
      } catch (error) {
        return refusedCharge(error, order);
      }
    },
  };
}

function setupOf({ reference, account, customer, successUrl, cancelUrl }: SaveCardOrder) {
  const metadata = { tollgate_account: account };
  return {
    mode: "setup",
    customer,
    client_reference_id: reference,
    // Stripe offers the payment methods that are configured in its account, because `payment_method_types` is not set.
    // Then setup mode requires a currency.
    currency: CURRENCY,
    success_url: successUrl,
    cancel_url: cancelUrl,
    metadata,
    setup_intent_data: { metadata },
  } as const satisfies Stripe.Checkout.SessionCreateParams;
}

function intentOf({ reference, account, product, price, customer, method }: ChargeOrder) {
  const { minor, currency } = toCents(price);
  return {
    amount: Number(minor),
    currency,
    customer,
    payment_method: method,
    // No redirects, because no buyer is present to follow them.
    automatic_payment_methods: { enabled: true, allow_redirects: "never" },
    off_session: true,
    confirm: true,
    description: product,
    metadata: { tollgate_checkout: reference, tollgate_account: account },
  } as const satisfies Stripe.PaymentIntentCreateParams;
}

/**
 * Final results: a declined card, and a request that Stripe will never accept, such as for a removed card. Any other
 * error, such as no response, a rate limit or a wrong key, leaves the result unknown.
 */
function refusedCharge(error: unknown, { reference }: ChargeOrder): PaymentIntentResult {
  const isCard = error instanceof Stripe.errors.StripeCardError;
  const isRequest =
    error instanceof Stripe.errors.StripeInvalidRequestError && [400, 404].includes(error.statusCode ?? 0);
  if (!isCard && !isRequest) throw toProviderUnavailable(error);
  const payment = error.payment_intent?.id ?? null;
  return { kind: "intent", reference, payment, seen: "failed", total: null, failure: failureOf(error.code) };
}

const failureOf = (code: string | undefined): TopUpFailure =>
  code === "authentication_required" ? "authentication_required" : "declined";

/** A card's brand, or another method's type (`us_bank_account`), with the last digits if any. */
function nameOf(method: Stripe.PaymentMethod): Pick<SavedPaymentMethod, "brand" | "last4"> {
  const details = (method as unknown as Record<string, { brand?: unknown; last4?: unknown } | undefined>)[method.type];
  const { brand = method.type, last4 } = details ?? {};
  return { brand: String(brand), last4: typeof last4 === "string" && /^\d{4}$/.test(last4) ? last4 : null };
}

const idOf = (named: string | { id: string }): string => (typeof named === "string" ? named : named.id);

function unreadable(intent: string): never {
  throw new ProviderUnavailable("the payment provider's response does not match the request", { intent });
}
