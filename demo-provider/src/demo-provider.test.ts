/**
 * Tests the demo payment provider as people and gateways use it: pages, actions, and webhooks that are repeated until
 * they are acknowledged.
 */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { wallClock } from "@tollgate/protocol/clock.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import Stripe from "stripe";
import { type DemoPaymentProvider, openDemoPaymentProvider } from "./demo-provider.ts";
import type { SaleRecord } from "./sale-record.ts";

const common = { clock: wallClock, random: { below: randomInt }, log: { error() {} } };

/** A gateway's webhook receiver. It gives scripted answers and records what it gets. */
class Receiver {
  status = 200;
  readonly got: { body: string; signature: string }[] = [];
  readonly #server: Server = createServer(async (request, response) => {
    const body = (await Array.fromAsync(request)).join("");
    this.got.push({ body, signature: String(request.headers["stripe-signature"]) });
    response.writeHead(this.status).end();
  });
  url = "";

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/webhooks/stripe`;
  }

  close(): Promise<unknown> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }

  types(): string[] {
    return this.got.map(({ body }) => JSON.parse(body).type).sort();
  }
}

let demo: DemoPaymentProvider;
let receiver: Receiver;
before(async () => {
  receiver = new Receiver();
  await receiver.open();
  demo = await openDemoPaymentProvider(common);
  demo.deliveries.to(receiver.url);
});
beforeEach(async () => {
  await eventually("nothing is under way", () => demo.deliveries.all.every(({ acknowledged }) => acknowledged));
  receiver.got.length = 0;
  receiver.status = 200;
});
after(async () => {
  await demo.close();
  await receiver.close();
});

const form = (more: Record<string, string> = {}): Record<string, string> => ({
  mode: "payment",
  success_url: "http://console.test/done?session={CHECKOUT_SESSION_ID}",
  cancel_url: "http://console.test/back",
  client_reference_id: "pay_1",
  "line_items[0][quantity]": "1",
  "line_items[0][price_data][currency]": "usd",
  "line_items[0][price_data][unit_amount]": "2000",
  "line_items[0][price_data][product_data][name]": "<b>Credits</b>",
  "metadata[account]": "acc_1",
  ...more,
});

async function create(fields: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(`${demo.url}/v1/checkout/sessions`, {
    method: "POST",
    headers: { authorization: `Bearer ${demo.secretKey}`, ...headers },
    body: new URLSearchParams(fields),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function newSale(): Promise<SaleRecord> {
  const { body } = await create(form());
  return demo.shop.find(body.id as string) as SaleRecord;
}

/** Submits the form of a button on a page. */
const press = (path: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  fetch(`${demo.url}${path}`, { method: "POST", body: new URLSearchParams(fields), redirect: "manual", headers });

const delivered = (count: number) => eventually(`${count} webhooks`, () => receiver.got.length >= count);

describe("the API of the demo payment provider", () => {
  test("creates a checkout session with the URL of its payment page", async () => {
    const { status, body } = await create(form());
    assert.equal(status, 200);
    assert.equal(body.object, "checkout.session");
    assert.equal(body.url, `${demo.url}/pay/${body.id}`);
    assert.deepEqual(body.metadata, { account: "acc_1" });
  });

  test("names the parameter that is invalid", async () => {
    const rows: [Record<string, string>, string][] = [
      [{ mode: "subscription" }, "mode"],
      [{ success_url: "" }, "success_url"],
      [{ "line_items[0][price_data][unit_amount]": "1.5" }, "line_items[0][price_data][unit_amount]"],
      [{ "line_items[0][quantity]": "2" }, "line_items"],
    ];
    for (const [change, param] of rows) {
      const { status, body } = await create(form(change));
      assert.deepEqual([status, (body.error as { param: string }).param], [400, param]);
    }
    assert.equal((await create(form(), { authorization: "Bearer sk_test_wrong" })).status, 401);
  });

  test("repeats the first response for an idempotency key, and refuses the key for another request", async () => {
    const key = { "idempotency-key": "key-1" };
    const first = await create(form(), key);
    assert.deepEqual(await create(form(), key), first);
    const other = await create(form({ client_reference_id: "pay_2" }), key);
    assert.deepEqual([other.status, (other.body.error as { type: string }).type], [400, "idempotency_error"]);
  });
});

describe("the pages of the demo payment provider", () => {
  const get = async (path: string): Promise<{ response: Response; text: string }> => {
    const response = await fetch(`${demo.url}${path}`);
    return { response, text: await response.text() };
  };

  test("show the buyer the product, the price and the possible actions, and load nothing from elsewhere", async () => {
    const sale = await newSale();
    const { response, text } = await get(`/pay/${sale.session}`);
    assert.match(String(response.headers.get("content-security-policy")), /^default-src 'none'/);
    assert.match(text, /<html lang="en">/);
    assert.match(text, /No money moves/);
    assert.match(text, /\$20\.00/);
    assert.match(text, /&#60;b&#62;Credits/);
    assert.doesNotMatch(text, /<b>Credits|<script|src=|https:\/\//);
    for (const label of ["<button>Pay</button>", "Pay later by bank transfer", "Cancel and go back"]) {
      assert.ok(text.includes(label), label);
    }
  });

  test("redirect a buyer after paying, send events to the gateway, and refuse a second payment", async () => {
    const sale = await newSale();
    const response = await press(`/pay/${sale.session}/now`);
    assert.equal(response.status, 303);
    assert.equal(response.headers.get("location"), `http://console.test/done?session=${sale.session}`);
    await delivered(2);
    assert.deepEqual(receiver.types(), ["charge.succeeded", "checkout.session.completed"]);
    assert.equal((await press(`/pay/${sale.session}/now`)).status, 409);
    assert.match((await get(`/pay/${sale.session}`)).text, /This checkout is over: paid/);
  });

  test("offer the operator a button for every action, each of which sends its events", async () => {
    const sale = await newSale();
    const at = `/sales/${sale.session}`;
    const steps: [() => string, Record<string, string>, string[]][] = [
      [() => `/pay/${sale.session}/later`, {}, ["checkout.session.completed"]],
      [() => `${at}/arrive`, {}, ["charge.succeeded", "checkout.session.async_payment_succeeded"]],
      [() => `${at}/refund`, { cents: "700" }, ["charge.refunded", "refund.created"]],
      [() => `${at}/fail-refund/${sale.refunds[0]?.id}`, {}, ["refund.failed"]],
      [() => `${at}/dispute`, {}, ["charge.dispute.created", "charge.dispute.funds_withdrawn"]],
      [() => `${at}/win/${sale.disputes[0]?.id}`, {}, ["charge.dispute.closed", "charge.dispute.funds_reinstated"]],
    ];
    for (const [path, fields, events] of steps) {
      receiver.got.length = 0;
      if (path().startsWith("/sales")) assert.ok((await get("/")).text.includes(`action="${path()}"`), path());
      assert.equal((await press(path(), fields)).status, 303, path());
      await delivered(events.length);
      assert.deepEqual(receiver.types(), events);
    }
    for (const [name, other] of [
      ["expire", "expired"],
      ["fail", "failed"],
      ["lose", "lost"],
    ] as const) {
      const another = await newSale();
      if (name === "fail") await press(`/pay/${another.session}/later`);
      if (name === "lose") {
        await press(`/pay/${another.session}/now`);
        await press(`/sales/${another.session}/dispute`);
      }
      const id = name === "lose" ? `/${another.disputes[0]?.id}` : "";
      assert.equal((await press(`/sales/${another.session}/${name}${id}`)).status, 303);
      assert.equal(name === "lose" ? another.disputes[0]?.status : another.state, other);
    }
  });

  test("refuse requests from another site's page, bodies that are too large and unknown paths", async () => {
    const sale = await newSale();
    await press(`/pay/${sale.session}/now`);
    const at = `/sales/${sale.session}`;
    assert.equal((await press(`${at}/dispute`, {}, { "sec-fetch-site": "cross-site" })).status, 409);
    for (const cents of ["0", "2001", "1.5", "all", ""]) {
      assert.equal((await press(`${at}/refund`, { cents })).status, 409, cents);
    }
    assert.deepEqual([sale.refunds, sale.disputes], [[], []]);
    assert.equal((await press("/sales/cs_test_none/refund")).status, 409);
    assert.equal((await get("/nowhere")).response.status, 404);
  });
});

describe("webhooks", () => {
  test("pass the signature check of the official library", async () => {
    const sale = await newSale();
    demo.shop.pay(sale);
    await delivered(2);
    for (const { body, signature } of receiver.got) {
      const event = new Stripe("sk_test_1").webhooks.constructEvent(body, signature, demo.webhookSecret);
      assert.equal(event.livemode, false);
    }
  });

  test("are repeated until they are acknowledged, also after the receiver's address changes", async () => {
    receiver.status = 500;
    demo.shop.expire(await newSale());
    await delivered(2);
    const second = new Receiver();
    await second.open();
    demo.deliveries.to(second.url);
    await eventually("the other receiver has it", () => second.got.length > 0);
    const delivery = demo.deliveries.all.at(-1);
    await eventually("it is acknowledged", () => delivery?.acknowledged);
    const [first, last] = [receiver.got[0], second.got[0]];
    assert.equal(last?.body, first?.body, "the same event");
    demo.deliveries.to(receiver.url);
    await second.close();
  });

  test("are sent again on request, even after they were acknowledged", async () => {
    demo.shop.expire(await newSale());
    await delivered(1);
    const id = JSON.parse(receiver.got[0]?.body as string).id;
    assert.equal((await press(`/events/${id}/again`)).status, 303);
    await delivered(2);
    assert.equal(JSON.parse(receiver.got[1]?.body as string).id, id);
  });
});

test("sales and webhooks that are not acknowledged survive a restart of the demo provider", async () => {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-demo-payments-"));
  try {
    const file = join(directory, "demo-payments.json");
    const first = await openDemoPaymentProvider({ ...common, file });
    const sale = first.shop.open({
      mode: "payment",
      customer: null,
      reference: "pay_1",
      product: "x",
      cents: 500,
      currency: "usd",
      successUrl: "http://console.test",
      cancelUrl: null,
      metadata: {},
    });
    const paid = await fetch(`${first.url}/pay/${sale.session}/now`, { method: "POST", redirect: "manual" });
    assert.equal(paid.status, 303);
    await first.close();

    const second = await openDemoPaymentProvider({ ...common, file });
    assert.deepEqual(second.shop.sales, [sale]);
    second.deliveries.to(receiver.url);
    await delivered(2);
    assert.deepEqual(receiver.types(), ["charge.succeeded", "checkout.session.completed"]);
    // The receiver records events a moment before its answers arrive at the provider. Closing earlier would lose those
    // answers.
    await eventually("their answers", () => second.deliveries.all.every(({ acknowledged }) => acknowledged));
    await second.close();

    const third = await openDemoPaymentProvider({ ...common, file });
    assert.ok(third.deliveries.all.every(({ acknowledged }) => acknowledged));
    await third.close();
  } finally {
    await rm(directory, { recursive: true });
  }
});
