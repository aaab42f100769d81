/** The webhook route for Stripe over HTTP, on a real database. Grouped by HTTP status. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { buildCheckoutSession } from "@tollgate/demo-provider/api-objects.ts";
import type { FastifyInstance } from "fastify";
import type { Uuid } from "../../base/ids.ts";
import { dollars } from "../../base/money.ts";
import { createServerWithoutRoutes } from "../../http/server.ts";
import { answerUnknownPaths } from "../../http/unknown-paths.ts";
import type { Payments } from "../../payments/payments.ts";
import {
  assertLedgerBalances,
  buildEventBody,
  openTestPayments,
  type TestPayments,
} from "../../payments/testing-payments.ts";
import { makeTestHttpOptions } from "../testing/http-options.ts";
import { addWebhookRoutes } from "./stripe.ts";

let t: TestPayments;
let app: FastifyInstance;
let closed: FastifyInstance;
before(async () => {
  t = await openTestPayments();
  app = serve(t.receivers[0]);
  closed = serve(undefined);
});
after(async () => {
  await assertLedgerBalances(t.db);
  await app.close();
  await closed.close();
  await t.close();
});

function serve(payments: Payments | undefined): FastifyInstance {
  const server = createServerWithoutRoutes(makeTestHttpOptions());
  const finish = answerUnknownPaths(server);
  addWebhookRoutes(server, { payments });
  finish();
  return server;
}

async function post(body: string | Buffer, headers: Record<string, string> = {}) {
  const response = await app.inject({
    method: "POST",
    url: "/webhooks/stripe",
    payload: body,
    headers: { "content-type": "application/json", ...headers },
  });
  assert.match(String(response.headers["x-request-id"]), /^req_/);
  return { status: response.statusCode, body: response.json() as { error?: Record<string, string> } };
}

const signed = (body: string) => post(body, { "stripe-signature": t.demo.deliveries.sign(body) });

async function paidSession(): Promise<{ account: Uuid; body: string }> {
  const account = await t.openBuilder();
  const { id, sale } = await t.start(account);
  const paid = { ...sale, state: "paid", payment: `pi_${id}`, charge: `ch_${id}` } as const;
  return { account, body: buildEventBody("checkout.session.completed", buildCheckoutSession(paid)) };
}

describe("status 200", () => {
  test("acknowledges a payment once it is credited, and every repetition", async () => {
    const { account, body } = await paidSession();
    for (let i = 0; i < 3; i++) {
      assert.deepEqual(await signed(body), { status: 200, body: { received: true } });
      assert.equal(await t.balance(account), dollars(20));
    }
  });

  test("accepts an event with different JSON formatting, because the signature covers the bytes as sent", async () => {
    const { account, body } = await paidSession();
    const spaced = JSON.stringify(JSON.parse(body), null, 3);
    assert.equal((await signed(spaced)).status, 200);
    assert.equal(await t.balance(account), dollars(20));
  });

  test("acknowledges an event of a type that the gateway does not use", async () => {
    assert.equal((await signed(buildEventBody("customer.created", { id: "cus_1" }))).status, 200);
  });
});

describe("status 400", () => {
  test("refuses a signature that is missing, altered, old or made for another body (invalid_signature)", async () => {
    const { account, body } = await paidSession();
    const good = t.demo.deliveries.sign(body);
    for (const [bytes, headers] of [
      [body, {}],
      [body, { "stripe-signature": "" }],
      [body, { "stripe-signature": good.replace(/.$/, (digit) => (digit === "0" ? "1" : "0")) }],
      [`${body} `, { "stripe-signature": good }],
      [body, { "stripe-signature": good.replace(/^t=\d+/, "t=1600000000") }],
    ] as [string, Record<string, string>][]) {
      const answer = await post(bytes, headers);
      assert.equal(answer.status, 400);
      assert.deepEqual([answer.body.error?.code, answer.body.error?.type], ["invalid_signature", "invalid_signature"]);
    }
    assert.equal(await t.balance(account), 0n);
  });

  test("refuses a signed event with an invalid field, and names the field", async () => {
    const { body } = await paidSession();
    const answer = await signed(body.replace('"payment_status":"paid"', '"payment_status":"perhaps"'));
    assert.equal(answer.status, 400);
    assert.equal(answer.body.error?.type, "invalid_request_error");
    assert.equal(answer.body.error?.param, "data.object.payment_status");
  });

  test("refuses a live-mode event in test mode", async () => {
    const { account, body } = await paidSession();
    const answer = await signed(body.replace('"livemode":false,"data"', '"livemode":true,"data"'));
    assert.equal(answer.status, 400);
    assert.equal(answer.body.error?.param, "livemode");
    assert.equal(await t.balance(account), 0n);
  });
});

test("returns 404 billing_disabled for every method when payments are off, without reading the body", async () => {
  for (const method of ["POST", "GET", "PUT", "DELETE"] as const) {
    const response = await closed.inject({ method, url: "/webhooks/stripe" });
    assert.equal(response.statusCode, 404);
    assert.equal(response.json().error.code, "billing_disabled");
  }
});

test("returns 405 for other methods", async () => {
  const response = await app.inject({ method: "GET", url: "/webhooks/stripe" });
  assert.deepEqual([response.statusCode, response.headers.allow], [405, "POST"]);
});

test("returns 413 for a body above 256 KiB, whether the declared length or the received bytes exceed it", async () => {
  const large = Buffer.alloc(256 * 1024 + 1, "x");
  const declared = await post(large, { "stripe-signature": "t=1,v1=1" });
  assert.equal(declared.status, 413);
  assert.match(String(declared.body.error?.message), /256 KiB/);
  const address = await app.listen({ port: 0, host: "127.0.0.1" });
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(large);
      controller.close();
    },
  });
  const response = await fetch(`${address}/webhooks/stripe`, { method: "POST", body: stream, duplex: "half" });
  assert.equal(response.status, 413);
});

test("returns 503 while the database cannot store an event; the provider sends it again, and it is credited once", async () => {
  const { account, body } = await paidSession();
  await t.db.pool.query("alter table payment_move rename to payment_move_away");
  try {
    const answer = await signed(body);
    assert.equal(answer.status, 503);
    assert.ok(!JSON.stringify(answer.body).includes("payment_move"));
  } finally {
    await t.db.pool.query("alter table payment_move_away rename to payment_move");
  }
  assert.equal(await t.balance(account), 0n);
  assert.equal((await signed(body)).status, 200);
  assert.equal(await t.balance(account), dollars(20));
});
