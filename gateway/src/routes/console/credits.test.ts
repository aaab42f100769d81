/**
 * Tests of buying credit in the console, on a real database with the payment provider's real library. Grouped by HTTP
 * status.
 */

import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { OPEN_CHECKOUTS_MAX } from "@tollgate/api/api-limits.ts";
import { type DemoPaymentProvider, openDemoPaymentProvider } from "@tollgate/demo-provider/demo-provider.ts";
import type { FastifyInstance } from "fastify";
import type { AccountKind } from "../../accounts/accounts.ts";
import { systemClock } from "../../base/clock.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { dollars } from "../../base/money.ts";
import { systemRandom } from "../../base/random.ts";
import type { PaymentProvider } from "../../payments/payment-provider.ts";
import { openPayments, type Payments } from "../../payments/payments.ts";
import { stripeProvider } from "../../payments/stripe.ts";
import { createStripeProviderAt } from "../../payments/testing-payments.ts";
import { Browser, type BrowserResponse } from "../testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { findConsoleOrigin } from "./credits.ts";

const log = createLog("silent");
let platform: TestPlatform;
let demo: DemoPaymentProvider;
let app: FastifyInstance;
before(async () => {
  platform = await openTestPlatform();
  demo = await openDemoPaymentProvider({ clock: systemClock, random: systemRandom(), log });
  app = serve(paymentsAt(createStripeProviderAt(demo)));
});
after(async () => {
  await demo.close();
  await platform.close();
});

function paymentsAt(provider: PaymentProvider): Payments {
  const { pool, newId } = platform;
  const { notify } = platform.parts.notifications;
  return openPayments({ pool, provider, notify, clock: systemClock, newId, log });
}

/** A whole server with these payments; it accepts sessions of the test platform. */
const serve = (payments: Payments | undefined, publicUrl?: string): FastifyInstance =>
  platform.serve({ payments, publicUrl });

interface Who {
  operator?: boolean;
  suspended?: boolean;
  server?: FastifyInstance;
}

async function person(kinds: AccountKind[], { operator = false, suspended = false, server = app }: Who = {}) {
  const made = await platform.person(
    kinds.map((kind) => ({ kind, suspended })),
    { operator },
  );
  const front = new Browser(platform);
  await front.enter(platform, made.identityId);
  const browser = new Browser({ app: server });
  for (const [name, value] of front.cookies) browser.cookies.set(name, value);
  return { browser, accounts: made.accountIds };
}

const balance = async (id: Uuid): Promise<bigint | undefined> => (await platform.ledger.balance(id))?.balance;

const buy = (browser: Browser, body: unknown = { pack_id: "pack_20" }, headers?: Record<string, string>) =>
  browser.send("POST", "/console/api/credits/checkout", { body, ...(headers && { headers }) });

function assertRefused(answer: BrowserResponse, status: number, code: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.deepEqual([answer.body.error?.code, answer.body.error?.type], [code, code]);
  assert.match(String(answer.headers["x-request-id"]), /^req_/);
}

async function checkouts(): Promise<number> {
  const { rows } = await platform.pool.query("select count(*)::int as count from payment_checkout");
  return rows[0].count;
}

describe("status 200", () => {
  test("lists the credit packs on offer", async () => {
    const { browser } = await person(["builder"]);
    const { status, body } = await browser.send("GET", "/console/api/packs");
    assert.equal(status, 200);
    const pack = (amount: number) => ({
      id: `pack_${amount}`,
      object: "pack",
      name: `$${amount} of credits`,
      currency: "usd",
      price_micro: `${amount}000000.000000`,
      credit_micro: `${amount}000000.000000`,
    });
    assert.deepEqual(body.data, [5, 20, 100, 500].map(pack));
  });

  test("stores a checkout for a pack before it returns the payment page's URL", async () => {
    const { browser, accounts } = await person(["builder", "host"]);
    for (const amount of [5, 20, 100, 500]) {
      const { status, body } = await buy(browser, { pack_id: `pack_${amount}` });
      assert.equal(status, 200);
      const sale = demo.shop.sales.at(-1);
      assert.equal(sale?.cents, amount * 100);
      assert.deepEqual(body, {
        object: "checkout",
        id: sale?.reference,
        url: `${demo.url}/pay/${sale?.session}`,
        pack_id: `pack_${amount}`,
        amount_micro: `${amount}000000.000000`,
      });
      assert.match(String(body.id), /^pay_[0-9a-z]{26}$/);
      const { rows } = await platform.pool.query(
        "select account_id, pack, state, live, provider_payment from payment_checkout where provider_session = $1",
        [sale?.session],
      );
      const [account_id] = accounts;
      assert.deepEqual(rows, [
        { account_id, pack: `pack_${amount}`, state: "open", live: false, provider_payment: null },
      ]);
      assert.equal(sale?.metadata.tollgate_account, publicId("acc", account_id as Uuid));
    }
  });

  test("charges exactly the credit for a custom amount", async () => {
    const { browser, accounts } = await person(["builder"]);
    for (const [amount, cents] of [
      ["5000000", 500],
      ["12340000.000000", 1234],
      ["5000000000", 500_000],
    ] as const) {
      const { status, body } = await buy(browser, { amount_micro: amount });
      assert.equal(status, 200);
      assert.deepEqual([body.pack_id, Number(body.amount_micro)], [null, cents * 10_000]);
      assert.equal(demo.shop.sales.at(-1)?.cents, cents);
    }
    const { rows } = await platform.pool.query(
      "select distinct pack from payment_checkout where account_id = $1",
      accounts,
    );
    assert.deepEqual(rows, [{ pack: "custom" }]);
  });

  test("sends the buyer back to the configured address, or to the one in the request", async () => {
    const { browser } = await person(["builder"]);
    await buy(browser);
    const here = demo.shop.sales.at(-1);
    assert.equal(here?.successUrl, `http://console.test/console?purchase=done&checkout=${here?.reference}`);
    assert.equal(here?.cancelUrl, `http://console.test/console?purchase=cancelled&checkout=${here?.reference}`);
    const behind = serve(paymentsAt(createStripeProviderAt(demo)), "https://tollgate.example/");
    const { browser: other } = await person(["builder"], { server: behind });
    await buy(other);
    assert.match(String(demo.shop.sales.at(-1)?.successUrl), /^https:\/\/tollgate\.example\/console\?/);
    await behind.close();
  });
});

test("findConsoleOrigin() reads the console's address from a request's headers", () => {
  assert.equal(findConsoleOrigin({ host: "a.test:8080" }), "http://a.test:8080");
  assert.equal(findConsoleOrigin({ host: "a.test", origin: "https://a.test" }), "https://a.test");
  assert.equal(findConsoleOrigin({ host: "a.test", origin: "https://evil.test" }), "http://a.test");
  assert.equal(findConsoleOrigin({ host: "a.test", origin: "null" }), "http://a.test");
  assert.equal(findConsoleOrigin({ host: "[::1]:8080", origin: "http://[::1]:8080" }), "http://[::1]:8080");
  for (const host of [undefined, "", "a b", "a.test/evil", "user@a.test"]) {
    assert.throws(() => findConsoleOrigin({ ...(host !== undefined && { host }) }), { status: 400 }, String(host));
  }
});

test("returns a 400 that names the invalid field and its rule", async () => {
  const { browser } = await person(["builder"]);
  const cents = "must be microdollars as a decimal string, whole cents from 5000000 ($5) to 5000000000 ($5,000)";
  const rows: [object, string, string][] = [
    [{}, "pack_id", 'is required and must be the ID of a pack, unless "amount_micro" is given'],
    [{ pack_id: null }, "pack_id", "is required and must be the ID of a pack"],
    [{ pack_id: 20 }, "pack_id", "must be a string"],
    [{ pack_id: ["pack_20"] }, "pack_id", "must be a string"],
    [{ pack_id: "pack_20", amount_micro: "5000000" }, "amount_micro", 'must not be combined with "pack_id"'],
    ...[5_000_000, "4999999", "4990000", "5000000.5", "5005000", "5000010000", "five", "-5000000", "5e6"].map(
      (amount_micro): [object, string, string] => [{ amount_micro }, "amount_micro", cents],
    ),
  ];
  const sales = demo.shop.sales.length;
  for (const [body, param, rule] of rows) {
    const answer = await buy(browser, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.equal(answer.body.error?.param, param);
    assert.ok(String(answer.body.error?.message).startsWith(`"${param}" ${rule}`), answer.body.error?.message);
  }
  assert.equal(demo.shop.sales.length, sales);
});

test("returns 401 not_authenticated without a session", async () => {
  const browser = new Browser({ app });
  assertRefused(await buy(browser), 401, "not_authenticated");
  assertRefused(await browser.send("GET", "/console/api/packs"), 401, "not_authenticated");
});

describe("status 403", () => {
  const rows: [string, AccountKind[], Who, string][] = [
    ["a host", ["host"], {}, "not_a_builder"],
    ["an operator without an account", [], { operator: true }, "member_only"],
    ["a person without an account", [], {}, "no_account"],
    ["a suspended builder", ["builder"], { suspended: true }, "account_suspended"],
  ];
  for (const [who, kinds, more, code] of rows) {
    test(`${code}: ${who}`, async () => {
      const [before, sales] = [await checkouts(), demo.shop.sales.length];
      const { browser } = await person(kinds, more);
      assertRefused(await buy(browser), 403, code);
      assert.deepEqual([await checkouts(), demo.shop.sales.length], [before, sales]);
    });
  }

  test("refuses a request from another site with cross_site_blocked", async () => {
    const { browser } = await person(["builder"]);
    const sales = demo.shop.sales.length;
    for (const headers of [{ "sec-fetch-site": "cross-site" }, { origin: "https://evil.test" }, { "x-none": "1" }]) {
      assertRefused(
        await buy(browser, { pack_id: "pack_5" }, headers as Record<string, string>),
        403,
        "cross_site_blocked",
      );
    }
    assert.equal(demo.shop.sales.length, sales);
  });
});

test("returns 404 billing_disabled to everyone if payments are off", async () => {
  const closed = serve(undefined);
  const strangers = new Browser({ app: closed });
  const { browser } = await person(["builder"], { server: closed });
  for (const visitor of [strangers, browser]) {
    for (const url of ["/console/api/packs", "/console/api/credits/checkout"]) {
      for (const method of ["GET", "POST", "PUT", "DELETE"] as const) {
        const headers = { "sec-fetch-site": "cross-site" };
        assertRefused(await visitor.send(method, url, { headers }), 404, "billing_disabled");
      }
    }
  }
  await closed.close();
});

test("returns 405 with the allowed methods for a wrong method", async () => {
  const browser = new Browser({ app });
  const answer = await browser.send("GET", "/console/api/credits/checkout");
  assert.deepEqual([answer.status, answer.headers.allow], [405, "POST"]);
  assert.equal((await browser.send("POST", "/console/api/packs")).status, 405);
});

test("returns 422 unknown_pack with the available packs", async () => {
  const { browser } = await person(["builder"]);
  for (const packId of ["pack_21", "", "PACK_20", "constructor", "pack_20 "]) {
    const answer = await buy(browser, { pack_id: packId });
    assertRefused(answer, 422, "unknown_pack");
    assert.match(String(answer.body.error?.message), /pack_5, pack_20, pack_100, pack_500/);
  }
});

test("returns 429 rate_limit_requests when the account has too many open checkouts", async () => {
  const { browser } = await person(["builder"]);
  for (let i = 0; i < OPEN_CHECKOUTS_MAX; i++) assert.equal((await buy(browser)).status, 200);
  const answer = await buy(browser);
  assertRefused(answer, 429, "rate_limit_requests");
  assert.match(String(answer.body.error?.message), /10 checkouts of the last hour are still open/);
  assert.ok(Number(answer.headers["retry-after"]) > 60);
  assert.equal(answer.headers["x-should-retry"], "false");
  assert.equal((await buy((await person(["builder"])).browser)).status, 200);
});

describe("returns 502 payment_provider_unavailable, and charges and stores nothing", () => {
  const rows: [string, RequestListener][] = [
    [
      "it refuses",
      (_request, response) => void response.writeHead(400).end('{"error":{"type":"invalid_request_error"}}'),
    ],
    ["it fails", (_request, response) => void response.writeHead(500).end("{}")],
    ["it hangs", () => undefined],
    ["it hangs up", (request) => request.socket.destroy()],
  ];
  for (const [what, listener] of rows) {
    test(what, async () => {
      const server = createServer(listener);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const apiBase = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { secretKey, webhookSecret } = demo;
      const provider = stripeProvider({
        secretKey,
        webhookSecrets: [webhookSecret],
        apiBase,
        clock: systemClock,
        callMsMax: 200,
      });
      const failing = serve(paymentsAt(provider));
      const { browser, accounts } = await person(["builder"], { server: failing });
      const before = await checkouts();
      const answer = await buy(browser);
      assertRefused(answer, 502, "payment_provider_unavailable");
      assert.match(String(answer.body.error?.message), /Nothing was charged/);
      assert.equal(answer.headers["x-should-retry"], "true");
      assert.equal(await checkouts(), before);
      assert.equal(await balance(accounts[0] as Uuid), dollars(5));
      server.closeAllConnections();
      await failing.close();
      await new Promise((resolve) => server.close(resolve));
    });
  }
});
