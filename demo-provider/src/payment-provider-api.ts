/**
 * The payment provider's API, as far as the gateway calls it. It is compatible with the provider's official library.
 */
import {
  buildCharge,
  buildCheckoutSession,
  buildPaymentIntent,
  buildPaymentMethod,
  buildSetupIntent,
} from "./api-objects.ts";
import type { NewPaymentIntent, NewSale, SaleRecord } from "./sale-record.ts";
import { ActionRefused, type ProviderSales } from "./sales-and-events.ts";

interface ApiAnswer {
  status: number;
  body: object;
}

interface ApiRequest {
  /** The method and path, such as `POST /v1/checkout/sessions`. */
  what: string;
  authorization: string | undefined;
  idempotencyKey: string | undefined;
  /** The form-encoded body. */
  body: string;
}

class BadParam extends Error {
  readonly param: string;
  constructor(param: string, message: string) {
    super(message);
    this.param = param;
  }
}

interface ApiOptions {
  shop: ProviderSales;
  secretKey: string;
  /** Returns the base URL of the provider's pages. */
  address: () => string;
}

type Call = (asked: { id: string; form: Form; key: string | null }) => ApiAnswer;

export class ProviderApi {
  readonly #options: ApiOptions;
  /** The answer to each idempotency key, with the request's body to compare. */
  readonly #answered = new Map<string, { body: string; answer: ApiAnswer }>();
  readonly #calls: [RegExp, Call][];

  constructor(options: ApiOptions) {
    this.#options = options;
    this.#calls = callsOf(options);
  }

  answer({ what, authorization, idempotencyKey, body }: ApiRequest): ApiAnswer {
    if (authorization !== `Bearer ${this.#options.secretKey}`) {
      return refuse(401, { type: "invalid_request_error", message: "Invalid API Key provided." });
    }
    const before = idempotencyKey === undefined ? undefined : this.#answered.get(idempotencyKey);
    if (before !== undefined && before.body === body) return before.answer;
    if (before !== undefined) {
      const message =
        "Keys for idempotent requests can only be used with the same parameters they were first used with.";
      return refuse(400, { type: "idempotency_error", message });
    }
    const answer = this.#call(what, new Form(body), idempotencyKey ?? null);
    if (idempotencyKey !== undefined) this.#answered.set(idempotencyKey, { body, answer });
    return answer;
  }

  #call(what: string, form: Form, key: string | null): ApiAnswer {
    for (const [pattern, call] of this.#calls) {
      const found = pattern.exec(what);
      if (found === null) continue;
      try {
        return call({ id: found[1] ?? "", form, key });
      } catch (error) {
        if (!(error instanceof BadParam)) throw error;
        return refuse(400, { type: "invalid_request_error", message: error.message, param: error.param });
      }
    }
    return refuse(404, { type: "invalid_request_error", message: `Unrecognized request URL (${what}).` });
  }
}

function callsOf({ shop, address }: ApiOptions): [RegExp, Call][] {
  const good = (body: object): ApiAnswer => ({ status: 200, body });
  const missing = (what: string, id: string): ApiAnswer =>
    refuse(404, { type: "invalid_request_error", code: "resource_missing", message: `No such ${what}: '${id}'` });
  const paymentOf = (id: string): SaleRecord | undefined => shop.sales.find(({ payment }) => payment === id);
  return [
    [/^POST \/v1\/customers$/, () => good({ id: shop.newCustomer(), object: "customer", livemode: false })],
    [
      /^POST \/v1\/checkout\/sessions$/,
      ({ form }) => {
        const sale = shop.open(readSale(form));
        return good(buildCheckoutSession(sale, `${address()}/pay/${sale.session}`));
      },
    ],
    [
      /^GET \/v1\/checkout\/sessions\/(\w+)$/,
      ({ id }) => {
        const sale = shop.find(id);
        if (sale === undefined) return missing("checkout session", id);
        const pdf = `${address()}/invoices/${sale.session}`;
        const invoice = sale.state === "paid" ? { id: `in_${id}`, object: "invoice", invoice_pdf: pdf } : null;
        return good({ ...buildCheckoutSession(sale), invoice });
      },
    ],
    [
      /^GET \/v1\/setup_intents\/(\w+)$/,
      ({ id }) => {
        const card = shop.card(id);
        return card === undefined ? missing("setupintent", id) : good(buildSetupIntent(card));
      },
    ],
    [
      /^POST \/v1\/payment_methods\/(\w+)\/detach$/,
      ({ id }) => {
        const card = shop.card(id);
        if (card === undefined) return missing("PaymentMethod", id);
        if (card.customer === null) {
          const message = "The payment method you provided is not attached to a customer.";
          return refuse(400, { type: "invalid_request_error", message });
        }
        card.customer = null;
        return good(buildPaymentMethod(card));
      },
    ],
    [/^POST \/v1\/payment_intents$/, ({ form, key }) => charged(shop, readIntent(form, key))],
    [
      /^GET \/v1\/payment_intents\/(\w+)$/,
      ({ id }) => {
        const sale = paymentOf(id);
        if (sale === undefined) return missing("payment_intent", id);
        const receipt = { receipt_url: `${address()}/receipts/${sale.session}` };
        return good(
          buildPaymentIntent(sale, sale.charge === null ? {} : { latest_charge: { ...buildCharge(sale), ...receipt } }),
        );
      },
    ],
  ];
}

/** Charges a card. If the card is refused, the answer is an error that contains the payment. */
function charged(shop: ProviderSales, asked: NewPaymentIntent): ApiAnswer {
  try {
    const sale = shop.charge(asked);
    const intent = buildPaymentIntent(sale);
    if (sale.failure === null) return { status: 200, body: intent };
    const message =
      sale.failure === "card_declined" ? "Your card was declined." : "This transaction needs authentication.";
    return refuse(402, { type: "card_error", code: sale.failure, message, payment_intent: intent });
  } catch (error) {
    if (!(error instanceof ActionRefused)) throw error;
    return refuse(400, { type: "invalid_request_error", code: "resource_missing", message: error.message });
  }
}

class Form extends URLSearchParams {
  need(param: string): string {
    const value = this.get(param);
    if (value === null || value === "") throw new BadParam(param, `Missing required param: ${param}.`);
    return value;
  }

  cents(param: string): number {
    const cents = Number(this.need(param));
    if (Number.isInteger(cents) && cents >= 50) return cents;
    throw new BadParam(param, "The amount must be an integer of at least 50 cents.");
  }

  metadata(): Record<string, string> {
    const metadata: Record<string, string> = {};
    for (const [name, value] of this) {
      const key = /^metadata\[(\w+)\]$/.exec(name)?.[1];
      if (key !== undefined) metadata[key] = value;
    }
    return metadata;
  }
}

function readSale(form: Form): NewSale {
  const mode = form.need("mode");
  if (mode !== "payment" && mode !== "setup") throw new BadParam("mode", "Only payments and setups can be made here.");
  const about = {
    mode: mode as SaleRecord["mode"],
    customer: mode === "setup" ? form.need("customer") : form.get("customer"),
    reference: form.get("client_reference_id"),
    successUrl: form.need("success_url"),
    cancelUrl: form.get("cancel_url"),
    metadata: form.metadata(),
  };
  if (mode === "setup") return { ...about, product: "A card to save", cents: 0, currency: "usd" };
  const item = "line_items[0][price_data]";
  const cents = form.cents(`${item}[unit_amount]`);
  if (Number(form.need("line_items[0][quantity]")) !== 1 || form.has("line_items[1][quantity]")) {
    throw new BadParam("line_items", "One item at a time can be bought here.");
  }
  return {
    ...about,
    product: form.need(`${item}[product_data][name]`),
    cents,
    currency: form.need(`${item}[currency]`),
  };
}

function readIntent(form: Form, idempotencyKey: string | null): NewPaymentIntent {
  for (const param of ["off_session", "confirm"]) {
    if (form.need(param) !== "true") throw new BadParam(param, "Only saved cards can be charged here, at once.");
  }
  return {
    cents: form.cents("amount"),
    currency: form.need("currency"),
    customer: form.need("customer"),
    method: form.need("payment_method"),
    product: form.get("description") ?? "",
    metadata: form.metadata(),
    idempotencyKey,
  };
}

const refuse = (status: number, error: object): ApiAnswer => ({ status, body: { error } });
