/**
 * Tests purchases of credit on a whole platform: through the demo provider's pages, by automatic top-up, and with
 * gateways that are killed in between.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { type DemoPaymentProvider, openDemoPaymentProvider } from "@tollgate/demo-provider/demo-provider.ts";
import type { SaleRecord } from "@tollgate/demo-provider/sale-record.ts";
import {
  createDataDir,
  type Platform,
  removeDataDir,
  runTollgate,
  startPlatform,
} from "@tollgate/stage/dev-platform.ts";
import { assertBalanced, readBuilderAccount } from "@tollgate/stage/ledger-check.ts";
import { connectToDatabase } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../gateway/src/base/clock.ts";
import { createLog } from "../gateway/src/base/log.ts";
import { systemRandom } from "../gateway/src/base/random.ts";

const DOLLAR = 1_000_000_000_000n;
/** The credit of a development platform's builder at the start, in dollars. */
const START = 5n;

interface Answer {
  status: number;
  body: Record<string, unknown> & { error?: { code: string } };
}

class Customer {
  readonly #platform: Platform;
  #cookie = "";

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  async signIn({ email, password }: { email: string; password: string }): Promise<this> {
    const response = await this.#send("POST", "/console/api/auth/sign-in/email", { email, password });
    assert.equal(response.status, 200);
    this.#cookie = (response.headers.get("set-cookie") as string).split(";")[0] as string;
    return this;
  }

  async ask(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: object): Promise<Answer> {
    const response = await this.#send(method, path, body);
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  }

  async buy(packId: string): Promise<string> {
    const { status, body } = await this.ask("POST", "/console/api/credits/checkout", { pack_id: packId });
    assert.equal(status, 200, JSON.stringify(body));
    return body.url as string;
  }

  /** Saves a card on the provider's page. Returns its last digits once the provider has reported the card. */
  async saveCard(last4: string): Promise<void> {
    const { status, body } = await this.ask("POST", "/console/api/credits/method");
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((await press(body.url as string, `Save Visa ${last4}`)).status, 303);
    await eventually(`card ${last4} is saved`, async () => (await this.credits()).method?.last4 === last4);
  }

  async credits() {
    const { body } = await this.ask("GET", "/console/api/credits");
    return body as unknown as {
      method: { last4: string } | null;
      top_up: { enabled: boolean; failure: string | null };
    };
  }

  async topUp(fields: { mark: number; amount: number; max: number }): Promise<void> {
    const micro = (dollars: number): string => String(dollars * 1_000_000);
    const { mark, amount, max } = fields;
    const settings = { mark_micro: micro(mark), amount_micro: micro(amount), month_max_micro: micro(max) };
    const { status, body } = await this.ask("PUT", "/console/api/credits/top-up", { enabled: true, ...settings });
    assert.equal(status, 200, JSON.stringify(body));
  }

  #send(method: string, path: string, body?: object): Promise<Response> {
    const { gateway_url: origin } = this.#platform.ready;
    return fetch(`${origin}${path}`, {
      method,
      headers: { origin, cookie: this.#cookie, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
}

/** Submits the form of a page's button, as a click does. */
async function press(pageUrl: string, label: string, fields: Record<string, string> = {}): Promise<Response> {
  const page = await (await fetch(pageUrl)).text();
  const forms = page.match(/<form[\s\S]*?<\/form>/g) ?? [];
  const form = forms.find((text) => text.includes(`<button>${label}</button>`));
  assert.ok(form, `a button “${label}” on ${pageUrl}`);
  const action = /action="([^"]+)"/.exec(form)?.[1] as string;
  const body = new URLSearchParams(fields);
  return await fetch(new URL(action, pageUrl), { method: "POST", body, redirect: "manual" });
}

const balanceIs = (platform: Platform, dollars: bigint): Promise<unknown> =>
  eventually(
    `the balance is $${dollars}`,
    async () => (await readBuilderAccount(platform)).balance === dollars * DOLLAR,
  );

describe("npm start -- --payments demo", () => {
  let dataDir: string;
  let platform: Platform;
  let customer: Customer;
  let paymentsUrl: string;
  before(async () => {
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--no-node", "--payments", "demo"]);
    paymentsUrl = (platform.ready as unknown as { payments_url: string }).payments_url;
    customer = await new Customer(platform).signIn(platform.ready.builder);
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  /** Returns whether an email was sent. A development platform writes emails to its log. */
  const wasWritten = async (words: RegExp): Promise<boolean> =>
    words.test(await readFile(join(dataDir, "gateway.log"), "utf8"));

  test("a user buys credit, pays, and returns to the console, which shows the credit", async () => {
    assert.match(platform.output(), new RegExp(`Payments +${paymentsUrl}`));
    const packs = await customer.ask("GET", "/console/api/packs");
    assert.deepEqual(
      (packs.body.data as { id: string }[]).map(({ id }) => id),
      ["pack_5", "pack_20", "pack_100", "pack_500"],
    );
    const back = await press(await customer.buy("pack_20"), "Pay");
    assert.equal(back.status, 303);
    assert.match(String(back.headers.get("location")), new RegExp(`^${platform.ready.console_url}\\?purchase=done`));
    await balanceIs(platform, START + 20n);
    const { body } = await customer.ask("GET", "/console/api/balance");
    assert.equal(body.balance_micro, "25000000.000000");
  });

  test("buttons on the demo provider's page simulate a delayed bank transfer, a refund and a won dispute", async () => {
    await press(await customer.buy("pack_100"), "Pay later by bank transfer");
    await press(paymentsUrl, "The money arrives");
    await balanceIs(platform, START + 120n);
    await press(paymentsUrl, "Refund", { cents: "3000" });
    await balanceIs(platform, START + 90n);
    await press(paymentsUrl, "Dispute it");
    await balanceIs(platform, START + 90n - 100n);
    const asked = await fetch(`${platform.ready.gateway_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${platform.ready.api_key}` },
      body: JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content: "hello" }], max_tokens: 1 }),
    });
    assert.equal(asked.status, 402, "an overdrawn account buys nothing");
    await press(paymentsUrl, "We win the dispute");
    await balanceIs(platform, START + 90n);
    await assertBalanced(platform);
  });

  test("the demo provider keeps its sales after a restart, and can refund them", async () => {
    assert.equal(await platform.stop(), 0);
    platform = await startPlatform(dataDir, ["--no-node", "--payments", "demo"]);
    paymentsUrl = (platform.ready as unknown as { payments_url: string }).payments_url;
    await press(paymentsUrl, "Refund", { cents: "1000" });
    await balanceIs(platform, START + 80n);
    const check = runTollgate(["admin", "ledger", "check", "--data", dataDir]);
    assert.equal(await check.ended, 0, check.output());
  });

  test("an automatic top-up buys credit with a saved card and a receipt; a declined card turns the top-up off", async () => {
    const buyer = await new Customer(platform).signIn(platform.ready.builder);
    const alert = await buyer.ask("PUT", "/console/api/credits/alert", { mark_micro: String((5 + 79) * 1_000_000) });
    assert.equal(alert.status, 200);
    await buyer.saveCard("4242");
    await buyer.topUp({ mark: 90, amount: 20, max: 1000 });
    await balanceIs(platform, START + 100n);
    const { body } = await buyer.ask("GET", "/console/api/payments?limit=1");
    const [payment] = body.data as [{ kind: string; state: string; purchase_id: string }];
    assert.deepEqual([payment.kind, payment.state], ["automatic", "paid"]);
    const receipt = await buyer.ask("GET", `/console/api/payments/${payment.purchase_id}/receipt`);
    assert.match(await (await fetch(receipt.body.receipt_url as string)).text(), /\$20\.00/);
    await press(paymentsUrl, "Refund", { cents: "2000" });
    await balanceIs(platform, START + 80n);
    await press(paymentsUrl, "Dispute it");
    await balanceIs(platform, START + 60n);
    await eventually("the owner gets an email about low credit", () => wasWritten(/balance is below \$84\.00/));

    const off = (await buyer.credits()).top_up;
    assert.deepEqual([off.enabled, off.failure], [false, "refunded"], "a purchase of its own was taken back");
    await buyer.saveCard("0341");
    await buyer.topUp({ mark: 90, amount: 20, max: 1000 });
    // Moves the last automatic purchase ten minutes into the past, so that another one is allowed.
    await platform.query("update auto_topup set begun_at = begun_at - interval '10 minutes'");
    await eventually("it turned itself off", async () => (await buyer.credits()).top_up.failure === "declined");
    assert.equal((await buyer.credits()).top_up.enabled, false);
    await eventually("the owner is told why", () => wasWritten(/automatic top-up was turned off/));
    const removed = await buyer.ask("DELETE", "/console/api/credits/method");
    assert.deepEqual([removed.status, removed.body.method], [200, null]);
    await assertBalanced(platform);
  });
});

describe("a gateway that is killed during a payment", () => {
  let dataDir: string;
  let platform: Platform;
  let demo: DemoPaymentProvider;
  let wire: Wire;
  let env: Record<string, string>;
  before(async () => {
    dataDir = await createDataDir();
    demo = await openDemoPaymentProvider({ clock: systemClock, random: systemRandom(), log: createLog("silent") });
    wire = await openWire(demo.url);
    env = {
      STRIPE_SECRET_KEY: demo.secretKey,
      STRIPE_WEBHOOK_SECRET: demo.webhookSecret,
      STRIPE_API_BASE: wire.url,
    };
    platform = await startPlatform(dataDir, ["--no-node"], env);
  });
  after(async () => {
    await wire?.close();
    await demo?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const receiver = (): string => `${platform.ready.gateway_url}/webhooks/stripe`;
  const newSale = async (): Promise<SaleRecord> => {
    await (await new Customer(platform).signIn(platform.ready.builder)).buy("pack_20");
    return demo.shop.sales.at(-1) as SaleRecord;
  };

  test("loses no payment event between receipt and commit, and credits the payment once", async () => {
    const sale = await newSale();
    // The test locks the ledger on its own connection, so that the webhook blocks inside its transaction.
    await platform.query("begin");
    await platform.query("select from ledger_account where kind = 'builder' for update");
    demo.deliveries.to(receiver());
    demo.shop.pay(sale);
    await eventually("the delivery is in the middle", async () => {
      await platform.query("select pg_stat_clear_snapshot()");
      const waiting = await platform.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%ledger_transfer%'",
      );
      return waiting.length > 0;
    });
    assert.equal((await readBuilderAccount(platform)).balance, START * DOLLAR);
    process.kill(platform.ready.pids.gateway, "SIGKILL");
    await platform.ended;
    await platform.query("rollback");
    await platform.stop();

    platform = await startPlatform(dataDir, ["--no-node"], env);
    const [before] = await platform.query<{ state: string; moves: number; events: number }>(
      `select (select state from payment_checkout), (select count(*)::int from payment_move) as moves,
              (select count(*)::int from payment_event where type = 'checkout.session.completed') as events`,
    );
    assert.deepEqual(before, { state: "open", moves: 0, events: 0 });
    demo.deliveries.to(receiver());
    await balanceIs(platform, START + 20n);
    await eventually("all is acknowledged", () => demo.deliveries.all.every(({ acknowledged }) => acknowledged));
    await assertBalanced(platform);
  });

  for (const hold of ["questions", "answers"] as const) {
    test(`makes an automatic purchase once if it is killed while ${hold} are held back between gateway and provider`, async () => {
      demo.deliveries.to(receiver());
      const buyer = await new Customer(platform).signIn(platform.ready.builder);
      await buyer.saveCard("4242");
      const before = (await readBuilderAccount(platform)).balance / DOLLAR;
      const intents = () => demo.shop.sales.filter(({ mode }) => mode === "intent").length;
      const made = intents();
      // Sends events elsewhere, because they would also credit the purchase: here only the provider's response may.
      demo.deliveries.to(`${wire.url}/nobody`);
      [wire.hold, wire.held] = [hold, 0];
      await platform.query("update auto_topup set begun_at = begun_at - interval '10 minutes'");
      await buyer.topUp({ mark: Number(before) + 1, amount: 20, max: 1000 });
      await eventually("the provider is asked", () => wire.held > 0);
      await platform.kill();
      await platform.ended;
      wire.hold = "nothing";
      // Delays the retry by an hour, so that the next gateway does not retry before the test allows it.
      const books = await connectToDatabase(dataDir);
      await books.query("update payment_automatic set next_at = now() + interval '1 hour' where next_at is not null");
      await books.end();
      platform = await startPlatform(dataDir, ["--no-node"], env);
      const [row] = await platform.query<{ open: number }>(
        "select count(*)::int as open from payment_checkout where pack = 'automatic' and state = 'open'",
      );
      assert.deepEqual([row?.open, intents()], [1, made + (hold === "answers" ? 1 : 0)]);
      // Makes the retry due now. The new gateway makes it, because the old one is dead.
      await platform.query("update payment_automatic set next_at = now() where next_at is not null");
      await balanceIs(platform, before + 20n);
      assert.equal(intents(), made + 1);
      demo.deliveries.to(receiver());
      await eventually("all is acknowledged", () => demo.deliveries.all.every(({ acknowledged }) => acknowledged));
      await balanceIs(platform, before + 20n);
      await assertBalanced(platform);
      await (await new Customer(platform).signIn(platform.ready.builder)).ask("DELETE", "/console/api/credits/method");
    });
  }

  test("credits and refunds every sale once if it is killed six times during webhooks", async () => {
    const sales: SaleRecord[] = [];
    for (let i = 0; i < 3; i++) sales.push(await newSale());
    const steps = [
      ...sales.map((sale) => () => demo.shop.pay(sale)),
      ...sales.map((sale) => () => demo.shop.refund(sale, 500)),
    ];
    for (const step of steps) {
      step();
      // Delivers every event once more.
      for (const delivery of demo.deliveries.all) demo.deliveries.again(delivery);
      await platform.kill();
      await platform.ended;
      platform = await startPlatform(dataDir, ["--no-node"], env);
      demo.deliveries.to(receiver());
    }
    await eventually("all is acknowledged", () => demo.deliveries.all.every(({ acknowledged }) => acknowledged));
    await balanceIs(platform, START + 20n + 2n * 20n + 3n * (20n - 5n));
    const moves = await platform.query("select kind, count(*)::int from payment_move group by 1 order by 1");
    assert.deepEqual(moves, [
      { kind: "purchase", count: 6 },
      { kind: "refund", count: 3 },
    ]);
    await assertBalanced(platform);
  });
});

/** A proxy between the gateway and the payment provider that can hold purchases back. */
interface Wire {
  url: string;
  /** Holds back the requests of purchases ("questions") or their responses ("answers"). */
  hold: "nothing" | "questions" | "answers";
  /** The number of purchases held back. */
  held: number;
  close(): Promise<void>;
}

async function openWire(to: string): Promise<Wire> {
  const wire: Wire = { url: "", hold: "nothing", held: 0, close: async () => {} };
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const body = await text(request);
    const isPurchase = method === "POST" && url === "/v1/payment_intents";
    // A held request is never answered: the gateway that waits for it is killed.
    if (isPurchase && wire.hold === "questions") return void wire.held++;
    const { authorization = "", "idempotency-key": key } = headers;
    const passed = { authorization, ...(key !== undefined && { "idempotency-key": String(key) }) };
    const answer = await fetch(`${to}${url}`, { method, headers: passed, ...(body !== "" && { body }) });
    if (isPurchase && wire.hold === "answers") return void wire.held++;
    response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  wire.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  wire.close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return wire;
}

test("without Stripe's secrets no credit can be bought, and a start with only one of the two secrets fails", async () => {
  const dataDir = await createDataDir();
  const platform = await startPlatform(dataDir, ["--no-node"]);
  try {
    for (const path of ["/console/api/packs", "/console/api/credits/checkout", "/webhooks/stripe"]) {
      const response = await fetch(`${platform.ready.gateway_url}${path}`, { method: "POST" });
      assert.equal(response.status, 404);
      assert.equal(((await response.json()) as Answer["body"]).error?.code, "billing_disabled");
    }
  } finally {
    await platform.stop();
    await removeDataDir(dataDir);
  }
  const half = runTollgate(["dev", "--data", dataDir], { STRIPE_SECRET_KEY: "sk_test_1" });
  assert.notEqual(await half.ended, 0);
  assert.match(half.output(), /STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET must be set together/);
});
