/**
 * Tests purchases against stripe-mock: it shows that every request matches Stripe's published API, and that the gateway
 * understands complete objects of that API in events. It does not show Stripe's behavior, such as taking money or
 * sending events: the test makes the events and signs them as Stripe does.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { assertBalanced, readBuilderAccount } from "@tollgate/stage/ledger-check.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { explainSkipWithout } from "../tools/third-party-programs.ts";
import { ConsoleClient } from "./console-client.ts";
import { makeStripeEvent, type StripeMock, sendStripeEvent, startStripeMock } from "./outside/stripe-mock.ts";

const DOLLAR = 1_000_000_000_000n;

describe("purchases checked against Stripe's published API", { skip: explainSkipWithout("stripe-mock") }, () => {
  let dataDir: string;
  let platform: Platform;
  let stripe: StripeMock;
  let customer: ConsoleClient;
  before(async () => {
    dataDir = await createDataDir();
    stripe = await startStripeMock();
    platform = await startPlatform(dataDir, ["--no-node"], stripe.env);
    customer = await new ConsoleClient(platform).signIn(platform.ready.builder);
  });
  after(async () => {
    await platform?.stop();
    await stripe?.close();
    await removeDataDir(dataDir);
  });

  const dollars = async (): Promise<bigint> => (await readBuilderAccount(platform)).balance / DOLLAR;
  const send = (...bodies: string[]): Promise<number[]> =>
    Promise.all(bodies.map((body) => sendStripeEvent(`${platform.ready.gateway_url}/webhooks/stripe`, body)));

  /** Opens a checkout. Returns its session in the state after the payment intent `payment` has paid it. */
  async function buy(packId: string, payment: string) {
    const { url } = await customer.send<{ url: string }>("POST", "credits/checkout", { pack_id: packId });
    const session = stripe.sessions.at(-1) ?? assert.fail("no session was opened");
    assert.equal(url, session.url);
    return { ...session, payment_intent: payment, payment_status: "paid", status: "complete", url: null };
  }

  test("stripe-mock refuses unknown parameters, which the other tests of this suite rely on", async () => {
    const form = { mode: "payment", success_url: "https://a.test/" };
    for (const more of [{ made_up: "1" }, { mode: "made_up" }, { "line_items[0][quantity]": "many" }]) {
      const { status, body } = await stripe.post("/v1/checkout/sessions", { ...form, ...more });
      assert.equal(status, 400, JSON.stringify([more, body]));
    }
    assert.equal((await stripe.post("/v1/checkout/sessions", form)).status, 200);
  });

  test("a paid checkout is credited once, whatever the number and kind of its events", async () => {
    const before = await dollars();
    const session = await buy("pack_20", "pi_1");
    assert.equal(await dollars(), before, "an open checkout is worth nothing");
    const completed = makeStripeEvent("checkout.session.completed", session);
    const copies = Array.from({ length: 10 }, () => completed);
    const others = ["completed", "async_payment_succeeded"].map((type) =>
      makeStripeEvent(`checkout.session.${type}`, session),
    );
    assert.deepEqual(new Set(await send(...copies, ...others)), new Set([200]));
    assert.equal(await dollars(), before + 20n);
  });

  test("a refund and a dispute that arrive before the payment are debited once; the won dispute is credited back", async () => {
    const before = await dollars();
    const session = await buy("pack_100", "pi_2");
    const payment = { payment_intent: "pi_2", currency: "usd" };
    const charge = { ...(await stripe.get("/v1/charges/ch_2")), ...payment, amount_refunded: 3000 };
    const refund = {
      ...(await stripe.get("/v1/refunds/re_2")),
      ...payment,
      id: "re_2",
      amount: 3000,
      status: "succeeded",
    };
    const dispute = { ...(await stripe.get("/v1/disputes/du_2")), ...payment, id: "du_2", amount: 7000 };
    const early = [
      makeStripeEvent("charge.dispute.created", { ...dispute, status: "needs_response" }),
      makeStripeEvent("charge.refunded", charge),
      makeStripeEvent("refund.created", refund),
    ];
    const paid = makeStripeEvent("checkout.session.completed", session);
    for (const body of [...early, paid]) assert.deepEqual(await send(body, body), [200, 200]);
    assert.equal(await dollars(), before);
    const won = makeStripeEvent("charge.dispute.closed", { ...dispute, status: "won" });
    assert.deepEqual(new Set(await send(won, paid, ...early, won)), new Set([200]));
    assert.equal(await dollars(), before + 70n);
    await assertBalanced(platform);
  });

  test("a saved card is charged automatically, credited once by response and event, and its receipt is found", async () => {
    const before = await dollars();
    const { url } = await customer.send<{ url: string }>("POST", "credits/method");
    const session = stripe.sessions.at(-1) ?? assert.fail("no session was opened");
    assert.equal(url, session.url);
    const saved = {
      ...session,
      mode: "setup",
      setup_intent: "seti_1",
      status: "complete",
      payment_status: "no_payment_required",
    };
    assert.deepEqual(await send(makeStripeEvent("checkout.session.completed", saved)), [200]);
    const mark = String((Number(before) + 1) * 1_000_000);
    const settings = { enabled: true, amount_micro: "20000000", mark_micro: mark, month_max_micro: "20000000" };
    const { method } = await customer.send<{ method: { last4: string } }>("PUT", "credits/top-up", settings);
    assert.match(method.last4, /^\d{4}$/);
    await eventually("it was bought", async () => (await dollars()) === before + 20n);
    const [row] = await platform.query<{ id: string; payment: string }>(
      "select id, provider_payment as payment from payment_checkout where pack = 'automatic'",
    );
    const intent = stripe.asked.find(({ what }) => what === "POST /v1/payment_intents");
    const paid = {
      ...(await stripe.get(`/v1/payment_intents/${row?.payment}`)),
      id: row?.payment,
      status: "succeeded",
      amount_received: 2000,
      currency: "usd",
      metadata: { tollgate_checkout: intent?.form.get("metadata[tollgate_checkout]") },
    };
    const succeeded = makeStripeEvent("payment_intent.succeeded", paid);
    assert.deepEqual(await send(succeeded, succeeded), [200, 200]);
    assert.equal(await dollars(), before + 20n);
    const { data } = await customer.send<{ data: { purchase_id: string }[] }>("GET", "payments?limit=1");
    await customer.send("GET", `payments/${data[0]?.purchase_id}/receipt`);
    await customer.send("DELETE", "credits/method");
    await assertBalanced(platform);
  });

  test("every request to Stripe matched its published API and had an idempotency key", () => {
    assert.deepEqual(
      stripe.asked.map(({ what, status }) => [what.replace(/\?.*/, "").replace(/\/(seti|pi|pm)_\w+/, "/:id"), status]),
      [
        ["POST /v1/checkout/sessions", 200],
        ["POST /v1/checkout/sessions", 200],
        ["POST /v1/customers", 200],
        ["POST /v1/checkout/sessions", 200],
        ["GET /v1/setup_intents/:id", 200],
        ["POST /v1/payment_intents", 200],
        ["GET /v1/payment_intents/:id", 200],
        ["POST /v1/payment_methods/:id/detach", 200],
      ],
    );
    const named = {
      "/v1/checkout/sessions": "client_reference_id",
      "/v1/payment_intents": "metadata[tollgate_checkout]",
    };
    for (const [path, name] of Object.entries(named)) {
      for (const { form, headers } of stripe.asked.filter(({ what }) => what === `POST ${path}`)) {
        assert.equal(headers["idempotency-key"], form.get(name));
      }
    }
  });
});
