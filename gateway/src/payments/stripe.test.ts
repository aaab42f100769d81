/**
 * Tests the official library against a server that speaks Stripe's protocol, and against servers that fail in various
 * ways.
 */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { buildCheckoutSession } from "@tollgate/demo-provider/api-objects.ts";
import { type DemoPaymentProvider, openDemoPaymentProvider } from "@tollgate/demo-provider/demo-provider.ts";
import { systemClock } from "../base/clock.ts";
import { dollars } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock } from "../base/testing.ts";
import { type CheckoutOrder, ProviderUnavailable } from "./payment-provider.ts";
import { stripeProvider } from "./stripe.ts";
import { EVENT_TYPES } from "./stripe-events.ts";
import { buildEventBody, createStripeProviderAt, silentLog } from "./testing-payments.ts";

const order: CheckoutOrder = {
  reference: "pay_06dg3m8q6pfxs3nxrk5mfa3ygc",
  account: "acc_06dg3m8q6pfxs3nxrk5mfa3ygc",
  product: "$20 of credits",
  price: dollars(20),
  successUrl: "https://console.test/console?purchase=done",
  cancelUrl: "https://console.test/console?purchase=cancelled",
};
const KEY = { secretKey: "sk_test_0123", webhookSecrets: ["whsec_0123"], clock: systemClock };

describe("opening a checkout", () => {
  let demo: DemoPaymentProvider;
  before(async () => {
    demo = await openDemoPaymentProvider({ clock: systemClock, random: systemRandom(), log: silentLog() });
  });
  after(() => demo.close());

  test("sends the library's request unchanged and returns the payment page's URL", async () => {
    const { session, url } = await createStripeProviderAt(demo).openCheckout(order);
    const sale = demo.shop.find(session);
    assert.deepEqual(
      { ...sale, created: 0 },
      {
        mode: "payment",
        customer: null,
        setup: null,
        method: null,
        failure: null,
        idempotencyKey: null,
        session,
        reference: order.reference,
        product: "$20 of credits",
        cents: 2000,
        currency: "usd",
        successUrl: order.successUrl,
        cancelUrl: order.cancelUrl,
        metadata: { tollgate_checkout: order.reference, tollgate_account: order.account },
        created: 0,
        state: "open",
        payment: null,
        charge: null,
        refunds: [],
        disputes: [],
      },
    );
    const page = await fetch(url);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /\$20\.00/);
  });

  test("returns the same session for the same checkout, and refuses another price under the same idempotency key", async () => {
    const provider = createStripeProviderAt(demo);
    const twice = { ...order, reference: "pay_06dg3m8q6pfxs3nxrk5mfa3ygd" };
    const [first, second] = [await provider.openCheckout(twice), await provider.openCheckout(twice)];
    assert.deepEqual(second, first);
    await assert.rejects(provider.openCheckout({ ...twice, price: dollars(5) }), ProviderUnavailable);
  });

  test("reports a rejected API key without quoting it", async () => {
    const provider = createStripeProviderAt({ ...demo, secretKey: "sk_test_wrong" });
    const error = await provider.openCheckout(order).catch((reason: unknown) => reason);
    assert.ok(error instanceof ProviderUnavailable);
    assert.deepEqual([error.message, error.details.status], ["StripeAuthenticationError", 401]);
    assert.ok(!JSON.stringify({ ...error, message: error.message, cause: error.cause }).includes("sk_test"));
  });
});

const SESSION = {
  id: "cs_test_1",
  object: "checkout.session",
  url: "https://pay.test/1",
  livemode: false,
  client_reference_id: order.reference,
  amount_total: 2000,
  currency: "usd",
};

describe("a failing payment provider", () => {
  const servers: Server[] = [];
  after(() => {
    for (const server of servers) server.closeAllConnections();
    return Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  });
  const serve = async (listener: RequestListener): Promise<string> => {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const answers =
    (status: number, body: string): RequestListener =>
    (_request, response) =>
      void response.writeHead(status, { "content-type": "application/json" }).end(body);
  const error = (type: string): string => JSON.stringify({ error: { type, message: "no" } });

  const rows: [string, RequestListener][] = [
    ["is down for maintenance", answers(503, error("api_error"))],
    ["returns an internal error", answers(500, error("api_error"))],
    ["refuses the request", answers(400, error("invalid_request_error"))],
    ["refuses the account", answers(403, error("invalid_request_error"))],
    ["limits our rate", answers(429, error("rate_limit_error"))],
    ["returns HTML", answers(200, "<html>")],
    ["returns nothing", answers(200, "")],
    ["returns null", answers(200, "null")],
    ["returns a number", answers(200, "7")],
    ["closes the connection", (request) => request.socket.destroy()],
    ["breaks off", (_request, response) => void response.writeHead(200, { "content-length": 100 }).write("{")],
    ["never answers", () => undefined],
    ["returns no URL", answers(200, JSON.stringify({ ...SESSION, url: null }))],
    ["returns a javascript: URL", answers(200, JSON.stringify({ ...SESSION, url: "javascript:alert(1)" }))],
    ["returns another price", answers(200, JSON.stringify({ ...SESSION, amount_total: 1 }))],
    ["returns another currency", answers(200, JSON.stringify({ ...SESSION, currency: "eur" }))],
    ["returns another checkout", answers(200, JSON.stringify({ ...SESSION, client_reference_id: "pay_other" }))],
    ["is in live mode", answers(200, JSON.stringify({ ...SESSION, livemode: true }))],
  ];
  for (const [what, listener] of rows) {
    test(`counts as unavailable when it ${what}`, async () => {
      const provider = stripeProvider({ ...KEY, apiBase: await serve(listener), callMsMax: 100 });
      await assert.rejects(provider.openCheckout(order), ProviderUnavailable);
    });
  }

  test("counts as unavailable when nothing listens at its address", async () => {
    const apiBase = await serve(() => undefined);
    await new Promise((resolve) => (servers.pop() as Server).close(resolve));
    await assert.rejects(stripeProvider({ ...KEY, apiBase }).openCheckout(order), ProviderUnavailable);
  });

  test("counts as unavailable when its response takes longer than the deadline", async () => {
    const clock = manualClock();
    const apiBase = await serve((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).write(" ");
      clock.advance(10_000);
    });
    const provider = stripeProvider({ ...KEY, clock, apiBase, callMsMax: 200, deadlineMs: 10_000 });
    await assert.rejects(provider.openCheckout(order), { name: "ProviderUnavailable", message: /in time/ });
  });

  test("is retried with the same idempotency key after a temporary error", async () => {
    const keys: unknown[] = [];
    const apiBase = await serve((request, response) => {
      keys.push(request.headers["idempotency-key"]);
      const [status, body] = keys.length === 1 ? [500, error("api_error")] : [200, JSON.stringify(SESSION)];
      response.writeHead(status as number, { "content-type": "application/json" }).end(body);
    });
    const opened = await stripeProvider({ ...KEY, apiBase }).openCheckout(order);
    assert.equal(opened.session, "cs_test_1");
    assert.deepEqual(keys, [order.reference, order.reference]);
  });
});

describe("reading a payment event", () => {
  const clock = manualClock(Date.UTC(2030, 0, 1));
  const now = clock.now() / 1000;
  const provider = stripeProvider({ ...KEY, clock, apiBase: undefined });
  const sign = (body: string, { t = now, secret = "whsec_0123" }: { t?: number; secret?: string } = {}): string =>
    `t=${t},v1=${createHmac("sha256", secret).update(`${t}.${body}`).digest("hex")}`;
  const read = (body: string, signature: string | undefined = sign(body)) =>
    provider.readEvent(Buffer.from(body), signature);
  const body = buildEventBody("customer.created", { id: "cus_1" }, { id: "evt_1" });

  test("accepts a valid signature", () => {
    const news = { kind: "other" };
    const occurredAt = new Date(1_900_000_000_000);
    assert.deepEqual(read(body), { id: "evt_1", type: "customer.created", live: false, occurredAt, news });
    assert.equal(read(body, sign(body, { t: now - 300 })).id, "evt_1");
    const old = sign(body, { secret: "whsec_old" }).split(",")[1];
    assert.equal(
      read(body, `${sign(body)},${old}`).id,
      "evt_1",
      "while the secret is changed both signatures are sent",
    );
  });

  test("accepts signatures of either secret during a replacement", () => {
    const rotating = stripeProvider({ ...KEY, webhookSecrets: ["whsec_new", "whsec_0123"], clock, apiBase: undefined });
    for (const secret of ["whsec_new", "whsec_0123"]) {
      assert.equal(rotating.readEvent(Buffer.from(body), sign(body, { secret })).id, "evt_1");
    }
    const reading = () => rotating.readEvent(Buffer.from(body), sign(body, { secret: "whsec_wrong" }));
    assert.throws(reading, { name: "Fault", status: 400, code: "invalid_signature" });
  });

  const good = sign(body);
  const mac = good.split("v1=")[1] as string;
  const forged: [string, string | undefined][] = [
    ["none", undefined],
    ["an empty one", ""],
    ["nonsense", "nonsense"],
    ["no time", `v1=${mac}`],
    ["no signature", `t=${now}`],
    ["an empty signature", `t=${now},v1=`],
    ["another time", `t=${now - 1},v1=${mac}`],
    ["an invalid time", `t=soon,v1=${mac}`],
    ["another secret", sign(body, { secret: "whsec_wrong" })],
    ["another body", sign(`${body} `)],
    ["an old scheme", good.replace("v1=", "v0=")],
    ["a replay after 300 seconds", sign(body, { t: now - 301 })],
    ["one signed 301 seconds from now", sign(body, { t: now + 301 })],
  ];
  for (const [what, signature] of forged) {
    test(`refuses ${what}`, () => {
      // Passes null for a request without the header, because undefined would select the default parameter.
      const reading = () => provider.readEvent(Buffer.from(body), signature);
      assert.throws(reading, { name: "Fault", status: 400, code: "invalid_signature" });
    });
  }

  const sale = {
    mode: "payment",
    customer: null,
    setup: null,
    method: null,
    failure: null,
    idempotencyKey: null,
    session: "cs_1",
    reference: "pay_1",
    product: "x",
    cents: 2000,
    currency: "usd",
    successUrl: "",
    cancelUrl: "",
    metadata: {},
    created: 0,
    state: "paid",
    payment: "pi_1",
    charge: "ch_1",
    refunds: [],
    disputes: [],
  } as const;
  const session = buildCheckoutSession({ ...sale, refunds: [], disputes: [] });

  test("treats a completed but unpaid session as a delayed payment", () => {
    const seen = (type: string, payment_status: string): unknown => {
      const { news } = read(buildEventBody(type, { ...session, payment_status }));
      return news.kind === "session" ? news.seen : undefined;
    };
    assert.equal(seen("checkout.session.completed", "unpaid"), "pending");
    assert.equal(seen("checkout.session.completed", "paid"), "paid");
    assert.equal(seen("checkout.session.async_payment_succeeded", "paid"), "paid");
    assert.equal(seen("checkout.session.async_payment_failed", "unpaid"), "failed");
    assert.equal(seen("checkout.session.expired", "unpaid"), "expired");
  });

  const unreadable: [string, string, RegExp][] = [
    ["not JSON", "{", /valid JSON/],
    ["not an event", JSON.stringify({ object: "charge" }), /^object/],
    ["null", "null", /./],
    ["a thin event", JSON.stringify({ object: "v2.core.event", id: "evt_1" }), /thin/],
    ["no time", JSON.stringify({ ...JSON.parse(body), created: null }), /^created/],
    [
      "a session without its status",
      buildEventBody("checkout.session.completed", { ...session, payment_status: 1 }),
      /payment_status/,
    ],
    ["half a cent", buildEventBody("checkout.session.completed", { ...session, amount_total: 0.5 }), /amount_total/],
    [
      "a negative refund",
      buildEventBody("charge.refunded", { payment_intent: "pi", amount_refunded: -1, currency: "usd" }),
      /amount_refunded/,
    ],
    [
      "an unknown status",
      buildEventBody("charge.dispute.closed", {
        id: "du",
        payment_intent: "pi",
        amount: 1,
        currency: "usd",
        status: "tossed",
      }),
      /status/,
    ],
  ];
  for (const [what, text, message] of unreadable) {
    test(`refuses a signed event with ${what}, so that it is sent again`, () => {
      assert.throws(() => read(text), { name: "Fault", status: 400, code: undefined, message });
    });
  }

  test("ignores a charge that belongs to no checkout", () => {
    const charge = buildEventBody("charge.refunded", { payment_intent: null, amount_refunded: 1, currency: "usd" });
    assert.deepEqual(read(charge).news, { kind: "other" });
  });

  test("subscribes to every event type that it handles", () => {
    assert.deepEqual(EVENT_TYPES.toSorted(), [
      "charge.dispute.closed",
      "charge.dispute.created",
      "charge.dispute.funds_reinstated",
      "charge.dispute.funds_withdrawn",
      "charge.dispute.updated",
      "charge.refund.updated",
      "charge.refunded",
      "checkout.session.async_payment_failed",
      "checkout.session.async_payment_succeeded",
      "checkout.session.completed",
      "checkout.session.expired",
      "payment_intent.canceled",
      "payment_intent.payment_failed",
      "payment_intent.processing",
      "payment_intent.succeeded",
      "refund.created",
      "refund.failed",
      "refund.updated",
    ]);
  });
});
