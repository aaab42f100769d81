/** POST /v1/checkout/sessions, as the provider's official library sends it and expects it answered. */
import { sessionObject } from "./objects.ts";
import type { NewSale, Sale } from "./sale.ts";
import type { Shop } from "./shop.ts";

interface ApiAnswer {
  status: number;
  body: object;
}

interface ApiRequest {
  authorization: string | undefined;
  idempotencyKey: string | undefined;
  /** Form-encoded. */
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
  shop: Shop;
  secretKey: string;
  pageUrl: (sale: Sale) => string;
}

export class Api {
  readonly #options: ApiOptions;
  /** What was answered to each idempotency key, and for which parameters. */
  readonly #answered = new Map<string, { body: string; answer: ApiAnswer }>();

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  createSession({ authorization, idempotencyKey, body }: ApiRequest): ApiAnswer {
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
    const answer = this.#create(new URLSearchParams(body));
    if (idempotencyKey !== undefined) this.#answered.set(idempotencyKey, { body, answer });
    return answer;
  }

  #create(form: URLSearchParams): ApiAnswer {
    const { shop, pageUrl } = this.#options;
    try {
      const sale = shop.open(readSale(form));
      return { status: 200, body: sessionObject(sale, pageUrl(sale)) };
    } catch (error) {
      if (!(error instanceof BadParam)) throw error;
      return refuse(400, { type: "invalid_request_error", message: error.message, param: error.param });
    }
  }
}

function readSale(form: URLSearchParams): NewSale {
  const need = (param: string): string => {
    const value = form.get(param);
    if (value === null || value === "") throw new BadParam(param, `Missing required param: ${param}.`);
    return value;
  };
  if (need("mode") !== "payment") throw new BadParam("mode", "Only payments can be made here.");
  const item = "line_items[0][price_data]";
  const cents = Number(need(`${item}[unit_amount]`));
  const quantity = Number(need("line_items[0][quantity]"));
  if (!Number.isInteger(cents) || cents < 50) {
    throw new BadParam(`${item}[unit_amount]`, "The amount must be an integer of at least 50 cents.");
  }
  if (quantity !== 1 || form.has("line_items[1][quantity]")) {
    throw new BadParam("line_items", "One item at a time can be bought here.");
  }
  const metadata: Record<string, string> = {};
  for (const [name, value] of form) {
    const key = /^metadata\[(\w+)\]$/.exec(name)?.[1];
    if (key !== undefined) metadata[key] = value;
  }
  return {
    reference: form.get("client_reference_id"),
    product: need(`${item}[product_data][name]`),
    cents,
    currency: need(`${item}[currency]`),
    successUrl: need("success_url"),
    cancelUrl: form.get("cancel_url"),
    metadata,
  };
}

const refuse = (status: number, error: object): ApiAnswer => ({ status, body: { error } });
