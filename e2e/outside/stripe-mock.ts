/**
 * Stripe's API for tests. Every request is forwarded to stripe-mock, which validates it against Stripe's published API
 * and answers with a complete object. stripe-mock stores nothing, so the fields that belong to a session (its ID, the
 * price, the payment URL) are replaced in its response. Errors of stripe-mock are passed on.
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { startThirdPartyServer } from "./third-party-server.ts";

const SECRET_KEY = "sk_test_123";
const WEBHOOK_SECRET = "whsec_of_tests";
/** The settings of a gateway that accepts the events of `deliver`. */
export const STRIPE_SETTINGS = { STRIPE_SECRET_KEY: SECRET_KEY, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET };

type Fields = Record<string, unknown>;

export interface StripeMock {
  env: Record<string, string>;
  /** All requests of the gateway, each with the status that stripe-mock answered. */
  asked: { what: string; status: number; form: URLSearchParams; headers: IncomingMessage["headers"] }[];
  /** The sessions as the gateway received them. */
  sessions: Fields[];
  /** Reads an object of the Stripe API, such as a charge, as stripe-mock returns it. */
  get(path: string): Promise<Fields>;
  post(path: string, form: Record<string, string>): Promise<{ status: number; body: Fields }>;
  close(): Promise<void>;
}

export async function startStripeMock(): Promise<StripeMock> {
  const addresses = ["-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0"];
  const mock = await startThirdPartyServer(
    "stripe-mock",
    addresses,
    /HTTP at address: (\S+)[\s\S]*HTTPS at address: \S+\n/,
  );
  const origin = `http://${mock.found[1]}`;
  const [asked, sessions]: [StripeMock["asked"], Fields[]] = [[], []];
  const ask = async (path: string, init: RequestInit): Promise<{ status: number; body: Fields }> => {
    const headers = { authorization: `Bearer ${SECRET_KEY}`, ...init.headers };
    const response = await fetch(`${origin}${path}`, { ...init, headers });
    return { status: response.status, body: (await response.json()) as Fields };
  };
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const body = await text(request);
    const { authorization = "", "content-type": type = "" } = headers;
    const init = { method, headers: { authorization, "content-type": type }, ...(body !== "" && { body }) };
    const answer = await ask(url, init);
    const form = new URLSearchParams(body);
    asked.push({ what: `${method} ${url}`, status: answer.status, form, headers });
    if (answer.status === 200 && answer.body.object === "checkout.session") {
      Object.assign(answer.body, own(form, sessions.length + 1));
      sessions.push(answer.body);
    }
    if (answer.status === 200 && answer.body.object === "payment_intent" && method === "POST") {
      Object.assign(answer.body, ownIntent(form, asked.length));
    }
    if (answer.status === 200 && answer.body.object === "setup_intent") {
      Object.assign(answer.body, { customer: sessions.at(-1)?.customer });
    }
    response.writeHead(answer.status, { "content-type": "application/json" }).end(JSON.stringify(answer.body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    env: { ...STRIPE_SETTINGS, STRIPE_API_BASE: `http://127.0.0.1:${port}` },
    asked,
    sessions,
    get: async (path) => (await ask(path, {})).body,
    post: (path, form) => ask(path, { method: "POST", body: new URLSearchParams(form) }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      await mock.stop();
    },
  };
}

/** Returns the fields that Stripe would derive from the request for a session. */
function own(form: URLSearchParams, number: number): Fields {
  return {
    id: `cs_test_${number}`,
    url: `https://checkout.stripe.test/${number}`,
    amount_total: Number(form.get("line_items[0][price_data][unit_amount]")),
    currency: form.get("line_items[0][price_data][currency]"),
    customer: form.get("customer"),
    payment_intent: null,
    payment_status: "unpaid",
    status: "open",
  };
}

/** Returns the fields that Stripe would derive for an immediate payment. */
function ownIntent(form: URLSearchParams, number: number): Fields {
  const amount = Number(form.get("amount"));
  const metadata = Object.fromEntries(
    ["tollgate_checkout", "tollgate_account"].map((name) => [name, form.get(`metadata[${name}]`)]),
  );
  return {
    id: `pi_automatic_${number}`,
    amount,
    amount_received: amount,
    currency: form.get("currency"),
    metadata,
    status: "succeeded",
    last_payment_error: null,
  };
}

let events = 0;

/** Wraps an API object in an event of this type. */
export function makeStripeEvent(type: string, object: Fields): string {
  const created = Math.floor(Date.now() / 1000);
  const id = `evt_${++events}`;
  return JSON.stringify({ id, object: "event", api_version: null, created, livemode: false, type, data: { object } });
}

/** Signs an event as Stripe does, and sends it. */
export async function sendStripeEvent(to: string, body: string): Promise<number> {
  const t = Math.floor(Date.now() / 1000);
  const mac = createHmac("sha256", WEBHOOK_SECRET).update(`${t}.${body}`).digest("hex");
  const response = await fetch(to, {
    method: "POST",
    headers: { "stripe-signature": `t=${t},v1=${mac}`, "content-type": "application/json; charset=utf-8" },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}
