/** Buying credits on a whole platform: by clicking through the demonstration, and with kill -9 in the middle. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../gateway/src/base/clock.ts";
import { createLog } from "../gateway/src/base/log.ts";
import { systemRandom } from "../gateway/src/base/random.ts";
import { type DemoProvider, openDemoProvider } from "../gateway/src/payments/demo-provider/demo-provider.ts";
import type { Sale } from "../gateway/src/payments/demo-provider/sale.ts";
import { assertBalanced, builder } from "./ledger-check.ts";
import { eventually, newDataDir, type Platform, removeDataDir, startPlatform, tollgate } from "./platform.ts";

const DOLLAR = 1_000_000_000_000n;
/** What a development platform's builder starts with. */
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

  async ask(method: "GET" | "POST", path: string, body?: object): Promise<Answer> {
    const response = await this.#send(method, path, body);
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  }

  async buy(packId: string): Promise<string> {
    const { status, body } = await this.ask("POST", "/console/api/credits/checkout", { pack_id: packId });
    assert.equal(status, 200, JSON.stringify(body));
    return body.url as string;
  }

  #send(method: string, path: string, body?: object): Promise<Response> {
    const { base_url: origin } = this.#platform.ready;
    return fetch(`${origin}${path}`, {
      method,
      headers: { origin, cookie: this.#cookie, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
}

/** Follows a page's own form, as a person who presses its button does. */
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
  eventually(`the balance is $${dollars}`, async () => (await builder(platform)).balance === dollars * DOLLAR);

describe("npm start -- --payments demo", () => {
  let dataDir: string;
  let platform: Platform;
  let customer: Customer;
  let paymentsUrl: string;
  before(async () => {
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--no-node", "--payments", "demo"]);
    paymentsUrl = (platform.ready as unknown as { payments_url: string }).payments_url;
    customer = await new Customer(platform).signIn(platform.ready.builder);
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  test("a person buys, pays and has credit; back at the console with it", async () => {
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

  test("a bank transfer that arrives later, a refund, a dispute that is won: all by the operator's buttons", async () => {
    await press(await customer.buy("pack_100"), "Pay later by bank transfer");
    await press(paymentsUrl, "The money arrives");
    await balanceIs(platform, START + 120n);
    await press(paymentsUrl, "Refund", { cents: "3000" });
    await balanceIs(platform, START + 90n);
    await press(paymentsUrl, "Dispute it");
    await balanceIs(platform, START + 90n - 100n);
    const asked = await fetch(`${platform.ready.base_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${platform.ready.api_key}` },
      body: JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content: "hello" }], max_tokens: 1 }),
    });
    assert.equal(asked.status, 402, "an overdrawn account buys nothing");
    await press(paymentsUrl, "We win the dispute");
    await balanceIs(platform, START + 90n);
    await assertBalanced(platform);
  });

  test("after a restart the demonstration still knows its sales: an old one is refunded", async () => {
    assert.equal(await platform.stop(), 0);
    platform = await startPlatform(dataDir, ["--no-node", "--payments", "demo"]);
    paymentsUrl = (platform.ready as unknown as { payments_url: string }).payments_url;
    await press(paymentsUrl, "Refund", { cents: "1000" });
    await balanceIs(platform, START + 80n);
    const check = tollgate(["admin", "ledger", "check", "--data", dataDir]);
    assert.equal(await check.ended, 0, check.output());
  });
});

describe("a gateway that is killed", () => {
  let dataDir: string;
  let platform: Platform;
  let demo: DemoProvider;
  let env: Record<string, string>;
  before(async () => {
    dataDir = await newDataDir();
    demo = await openDemoProvider({ clock: systemClock, random: systemRandom(), log: createLog("silent") });
    env = {
      STRIPE_SECRET_KEY: demo.secretKey,
      STRIPE_WEBHOOK_SECRET: demo.webhookSecret,
      STRIPE_API_BASE: demo.url,
    };
    platform = await startPlatform(dataDir, ["--no-node"], env);
  });
  after(async () => {
    await demo?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const receiver = (): string => `${platform.ready.base_url}/webhooks/stripe`;
  const newSale = async (): Promise<Sale> => {
    await (await new Customer(platform).signIn(platform.ready.builder)).buy("pack_20");
    return demo.shop.sales.at(-1) as Sale;
  };

  test("kill -9 between receipt and commit loses nothing and credits once", async () => {
    const sale = await newSale();
    // The test's own connection holds the ledger, so that the delivery stops inside its transaction.
    await platform.query("begin");
    await platform.query("select from ledger_account where kind = 'external' for update");
    demo.deliveries.to(receiver());
    demo.shop.pay(sale);
    await eventually("the delivery is in the middle", async () => {
      await platform.query("select pg_stat_clear_snapshot()");
      const waiting = await platform.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%ledger_transfer%'",
      );
      return waiting.length > 0;
    });
    assert.equal((await builder(platform)).balance, START * DOLLAR);
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

  test("six kills while webhooks rain: every sale is credited once and refunded once", async () => {
    const sales: Sale[] = [];
    for (let i = 0; i < 3; i++) sales.push(await newSale());
    const steps = [
      ...sales.map((sale) => () => demo.shop.pay(sale)),
      ...sales.map((sale) => () => demo.shop.refund(sale, 500)),
    ];
    for (const step of steps) {
      step();
      // Everything that was ever sent, once more.
      for (const delivery of demo.deliveries.all) demo.deliveries.again(delivery);
      await platform.kill();
      await platform.ended;
      platform = await startPlatform(dataDir, ["--no-node"], env);
      demo.deliveries.to(receiver());
    }
    await eventually("all is acknowledged", () => demo.deliveries.all.every(({ acknowledged }) => acknowledged));
    await balanceIs(platform, START + 20n + 3n * (20n - 5n));
    const moves = await platform.query("select kind, count(*)::int from payment_move group by 1 order by 1");
    assert.deepEqual(moves, [
      { kind: "purchase", count: 4 },
      { kind: "refund", count: 3 },
    ]);
    await assertBalanced(platform);
  });
});

test("without Stripe's secrets nothing can be bought; with one of the two nothing starts", async () => {
  const dataDir = await newDataDir();
  const platform = await startPlatform(dataDir, ["--no-node"]);
  try {
    for (const path of ["/console/api/packs", "/console/api/credits/checkout", "/webhooks/stripe"]) {
      const response = await fetch(`${platform.ready.base_url}${path}`, { method: "POST" });
      assert.equal(response.status, 404);
      assert.equal(((await response.json()) as Answer["body"]).error?.code, "billing_disabled");
    }
  } finally {
    await platform.stop();
    await removeDataDir(dataDir);
  }
  const half = tollgate(["dev", "--data", dataDir], { STRIPE_SECRET_KEY: "sk_test_1" });
  assert.notEqual(await half.ended, 0);
  assert.match(half.output(), /STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET must be set together/);
});
