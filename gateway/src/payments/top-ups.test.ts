/**
 * Tests automatic top-ups: exactly once despite repeated events and crashes, and within the limits beside other
 * purchases.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import {
  buildCharge,
  buildCheckoutSession,
  buildDispute,
  buildPaymentIntent,
  buildRefund,
} from "@tollgate/demo-provider/api-objects.ts";
import type { Card, Sale, TestCardLast4 } from "@tollgate/demo-provider/sale.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import { dollars, PICO_PER_DOLLAR, type Pico } from "../base/money.ts";
import { manualClock } from "../base/testing.ts";
import type { Payments } from "./payments.ts";
import { type PaymentProvider, ProviderUnavailable } from "./provider.ts";
import {
  assertLedgerBalances,
  buildEventBody,
  deliverSignedEvent,
  openTestPayments,
  type TestPayments,
} from "./testing.ts";

const MINUTE_MS = 60_000;
/** A time in the middle of a month. */
const START = Date.UTC(2031, 4, 15, 12);

let clock: ReturnType<typeof manualClock>;
let t: TestPayments;
/** Overrides the provider's methods for both gateways. */
let wire: Partial<PaymentProvider>;
before(async () => {
  clock = manualClock(START);
  t = await openTestPayments({
    clock,
    provider: (real) => ({ ...real, charge: (order) => (wire.charge ?? real.charge)(order) }),
  });
});
beforeEach(() => {
  wire = {};
  t.mailed.length = 0;
});
afterEach(() => assertLedgerBalances(t.db));
after(() => t.close());

const gateway = (n = 0): Payments => t.receivers[n] as Payments;
const intents = (account: Uuid): Sale[] =>
  t.demo.shop.sales.filter(
    ({ mode, metadata }) => mode === "intent" && metadata.tollgate_account === publicId("acc", account),
  );
const dollarsOf = async (account: Uuid): Promise<number> =>
  Number(((await t.balance(account)) * 100n) / PICO_PER_DOLLAR) / 100;

/** Saves a card on the provider's page as a person would, and delivers the event. */
async function saveCard(
  accountId: Uuid,
  last4: TestCardLast4,
  created = clock.now() / 1000,
): Promise<{ sale: Sale; card: Card }> {
  await gateway().openSetup({ accountId, successUrl: "http://a.test/", cancelUrl: "http://a.test/" });
  const sale = t.demo.shop.sales.at(-1) as Sale;
  const card = t.demo.shop.save(sale, last4);
  await deliverSignedEvent(
    gateway(),
    t.demo,
    buildEventBody("checkout.session.completed", buildCheckoutSession(sale), { created }),
  );
  return { sale, card };
}

interface Wanted {
  amount: Pico;
  mark: Pico;
  monthMax: Pico;
}
const WANTED: Wanted = { amount: dollars(20), mark: dollars(5), monthMax: dollars(1000) };

async function account({ last4 = "4242", ...wanted }: Partial<Wanted> & { last4?: TestCardLast4 } = {}): Promise<Uuid> {
  const id = await t.openBuilder();
  await t.db.pool.query("insert into identity (id, email, name) values ($1, $2, 'A')", [
    t.newId(),
    `${id}@example.test`,
  ]);
  await t.db.pool.query(
    "insert into account_owner (identity_id, account_id) select id, $1 from identity where email = $2",
    [id, `${id}@example.test`],
  );
  await saveCard(id, last4);
  assert.ok(await gateway().topUps.set(id, { ...WANTED, ...wanted, enabled: true }));
  return id;
}

/** Runs the top-up job of every gateway at the same time. */
async function run(): Promise<void> {
  await Promise.all(
    [0, 1, 0, 1].map(async (n) => {
      await gateway(n).topUps.begin();
      await gateway(n).topUps.ask();
    }),
  );
}
const spend = (accountId: Uuid, amount: Pico): Promise<string> =>
  t.ledger.transfer({ id: t.newId(), kind: "payout", accountId, amount, reason: "as if it were spent" });
const enabled = async (id: Uuid) => (await gateway().topUps.of(id))?.enabled;

describe("an automatic top-up", () => {
  test("is made only once if two gateways see the low balance, and is credited without waiting for the webhook", async () => {
    const id = await account();
    await run();
    assert.equal(intents(id).length, 1);
    assert.equal(await dollarsOf(id), 20);
    const { rows } = await t.db.pool.query("select kind, reason from transfer where account_id = $1", [id]);
    assert.deepEqual(rows, [{ kind: "purchase", reason: `automatic top-up (${intents(id)[0]?.reference})` }]);
    await run();
    assert.equal(intents(id).length, 1, "above the mark nothing is bought");
  });

  test("is credited once for any order of response and events, and debited once for refunds and disputes", async () => {
    type News = "answer" | "succeeded" | "failed" | "refund" | "dispute";
    const orders: News[][] = [
      ["succeeded", "succeeded", "answer", "refund", "dispute"],
      ["answer", "failed", "succeeded", "refund", "dispute", "succeeded"],
      ["refund", "dispute", "succeeded", "refund", "answer"],
      ["dispute", "succeeded", "refund", "dispute", "answer", "succeeded"],
      ["failed", "failed", "refund", "answer", "dispute", "succeeded"],
    ];
    for (const [round, order] of orders.entries()) {
      const id = await account();
      let answer = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        answer = resolve;
      });
      let sale: Sale | undefined;
      wire.charge = async (asked) => {
        wire.charge = undefined as never;
        sale = t.demo.shop.charge({
          cents: 2000,
          currency: "usd",
          customer: asked.customer,
          method: asked.method,
          product: "",
          metadata: { tollgate_checkout: asked.reference, tollgate_account: asked.account },
          idempotencyKey: asked.reference,
        });
        await held;
        const total = { minor: 2000n, currency: "usd" };
        return {
          kind: "intent",
          reference: asked.reference,
          payment: sale.payment,
          seen: "paid",
          total,
          failure: null,
        };
      };
      await gateway().topUps.begin();
      const asking = gateway().topUps.ask();
      const paid = await eventually("the card is charged", () => sale as Sale | undefined);
      const refunds = [{ id: `re_${paid.payment}`, cents: 700, status: "succeeded" }];
      const dispute = { id: `du_${paid.payment}`, cents: 500, status: "needs_response" };
      const failed = { ...paid, state: "failed", failure: "card_declined" } as Sale;
      const bodies: Record<Exclude<News, "answer">, string> = {
        succeeded: buildEventBody("payment_intent.succeeded", buildPaymentIntent(paid)),
        failed: buildEventBody("payment_intent.payment_failed", buildPaymentIntent(failed)),
        refund: buildEventBody("refund.created", buildRefund(paid, refunds[0] as (typeof refunds)[0])),
        dispute: buildEventBody("charge.dispute.created", buildDispute(paid, dispute)),
      };
      const total = buildEventBody("charge.refunded", buildCharge({ ...paid, refunds }));
      for (const news of order) {
        if (news === "answer") {
          answer();
          await asking;
        } else {
          const same = Array.from({ length: 3 }, (_, n) => deliverSignedEvent(gateway(n % 2), t.demo, bodies[news]));
          await Promise.all([...same, ...(news === "refund" ? [deliverSignedEvent(gateway(1), t.demo, total)] : [])]);
        }
      }
      await run();
      assert.equal(await dollarsOf(id), 20 - 7 - 5, `order ${round}`);
      // A top-up that failed or was reversed later turns top-ups off. Credited money stays in the account.
      assert.equal(await enabled(id), false, `order ${round}`);
      clock.advance(20 * MINUTE_MS);
    }
  });

  test("is requested by another gateway if the first died after recording it, and made once", async () => {
    const id = await account();
    assert.equal(await gateway(0).topUps.begin(), 1);
    // The gateway dies before the provider's call, and in a second round after the call but before processing the
    // response.
    const real = wire.charge;
    wire.charge = async (order) => {
      wire = {};
      await gateway(0).topUps.of(id);
      t.demo.shop.charge({
        cents: 2000,
        currency: "usd",
        customer: order.customer,
        method: order.method,
        product: order.product,
        metadata: { tollgate_checkout: order.reference, tollgate_account: order.account },
        idempotencyKey: order.reference,
      });
      throw new ProviderUnavailable("killed");
    };
    assert.equal(real, undefined);
    await gateway(1).topUps.ask();
    assert.deepEqual([intents(id).length, await dollarsOf(id)], [1, 0]);
    await gateway(1).topUps.ask();
    assert.equal(await dollarsOf(id), 0, "not while the first may still be asking");
    clock.advance(MINUTE_MS);
    await run();
    assert.deepEqual([intents(id).length, await dollarsOf(id)], [1, 20]);
  });

  test("is retried while the provider is unreachable, abandoned after 12 h, and credited if paid later", async () => {
    const id = await account();
    let asked = 0;
    wire.charge = async () => {
      asked += 1;
      throw new ProviderUnavailable("no answer");
    };
    await run();
    const [{ id: checkout }] = (await t.db.pool.query("select id from payment_checkout where account_id = $1", [id]))
      .rows as [{ id: Uuid }];
    for (let i = 0; i < 11; i++) {
      clock.advance(60 * MINUTE_MS);
      await run();
    }
    assert.ok(asked >= 10, String(asked));
    assert.equal(await enabled(id), true);
    for (let i = 0; i < 2; i++) {
      clock.advance(60 * MINUTE_MS);
      await run();
    }
    const off = await gateway().topUps.of(id);
    assert.deepEqual([off?.enabled, off?.failure], [false, "unreachable"]);
    const late = { ...(t.demo.shop.sales[0] as Sale), mode: "intent", state: "paid", payment: `pi_${id}`, cents: 2000 };
    const metadata = { tollgate_checkout: publicId("pay", checkout), tollgate_account: publicId("acc", id) };
    const sale = { ...late, metadata, failure: null } as Sale;
    await deliverSignedEvent(gateway(), t.demo, buildEventBody("payment_intent.succeeded", buildPaymentIntent(sale)));
    assert.equal(await dollarsOf(id), 20);
    assert.equal(await enabled(id), false);
  });
});

describe("a failed automatic top-up", () => {
  for (const [last4, failure, words] of [
    ["0341", "declined", /declined the saved card/],
    ["3155", "authentication_required", /requires the cardholder to confirm/],
  ] as const) {
    test(`${failure}: turns top-ups off and emails the owners once, even if the event is delivered twice`, async () => {
      const id = await account({ last4 });
      await run();
      const off = await gateway().topUps.of(id);
      assert.deepEqual([off?.enabled, off?.failure, off?.failedAt?.getTime()], [false, failure, clock.now()]);
      const [sale] = intents(id) as [Sale];
      const body = buildEventBody("payment_intent.payment_failed", buildPaymentIntent(sale));
      await Promise.all([deliverSignedEvent(gateway(0), t.demo, body), deliverSignedEvent(gateway(1), t.demo, body)]);
      await t.deliverer.send();
      const mailed = t.mailed.filter(({ to }) => to === `${id}@example.test`);
      assert.deepEqual(
        mailed.map(({ subject }) => subject),
        ["Tollgate: automatic top-up was turned off"],
      );
      assert.match(String(mailed[0]?.text), words);
      clock.advance(20 * MINUTE_MS);
      await run();
      assert.equal(intents(id).length, 1);
      assert.equal(off?.monthSpent, 0n, "what failed does not count against the month");
    });
  }

  test("is recognized when the provider no longer has the card", async () => {
    const id = await account();
    const card = t.demo.shop.cards.at(-1) as Card;
    card.customer = null;
    await run();
    assert.equal((await gateway().topUps.of(id))?.failure, "declined");
  });

  test("counts as resolved when an owner keeps top-ups off", async () => {
    const id = await account({ last4: "0341" });
    await run();
    assert.equal((await gateway().topUps.of(id))?.failure, "declined");
    await gateway().topUps.set(id, { ...WANTED, enabled: false });
    const kept = await gateway().topUps.of(id);
    assert.deepEqual([kept?.enabled, kept?.failure, kept?.failedAt], [false, null, null]);
  });

  test("allows the next one ten minutes later, once top-ups are on again", async () => {
    const id = await account({ last4: "0341" });
    await run();
    await saveCard(id, "4242");
    await gateway().topUps.set(id, { ...WANTED, enabled: true });
    assert.equal((await gateway().topUps.of(id))?.failure, null);
    await run();
    assert.equal(await dollarsOf(id), 0);
    clock.advance(10 * MINUTE_MS);
    await run();
    assert.equal(await dollarsOf(id), 20);
  });
});

describe("a reversed automatic top-up", () => {
  const disputed = (sale: Sale, status: string): string =>
    buildEventBody("charge.dispute.created", buildDispute(sale, { id: `du_${sale.payment}`, cents: 2000, status }));
  const refunded = (sale: Sale): string =>
    buildEventBody("refund.created", buildRefund(sale, { id: `re_${sale.payment}`, cents: 700, status: "succeeded" }));
  for (const [what, failure, body, words] of [
    ["disputed", "disputed", (sale: Sale) => disputed(sale, "needs_response"), /was disputed: the cardholder asked/],
    ["lost in a dispute", "disputed", (sale: Sale) => disputed(sale, "lost"), /was disputed: the cardholder asked/],
    ["refunded", "refunded", refunded, /was refunded/],
  ] as const) {
    test(`turns top-ups off and emails the owners once when it is ${what}`, async () => {
      const id = await account();
      await run();
      const [sale] = intents(id) as [Sale];
      await Promise.all([
        deliverSignedEvent(gateway(0), t.demo, body(sale)),
        deliverSignedEvent(gateway(1), t.demo, body(sale)),
      ]);
      await deliverSignedEvent(gateway(), t.demo, body(sale));
      const off = await gateway().topUps.of(id);
      assert.deepEqual([off?.enabled, off?.failure, off?.failedAt?.getTime()], [false, failure, clock.now()]);
      await t.deliverer.send();
      const mailed = t.mailed.filter(({ to }) => to === `${id}@example.test`);
      assert.deepEqual(
        mailed.map(({ subject }) => subject),
        ["Tollgate: automatic top-up was turned off"],
      );
      assert.match(String(mailed[0]?.text), words);
      clock.advance(20 * MINUTE_MS);
      if ((await dollarsOf(id)) > 0) await spend(id, dollars(13));
      await run();
      assert.equal(intents(id).length, 1, "nothing is bought again");
    });
  }

  test("leaves top-ups on if a bank only inquires, or if a purchase that was made by hand is refunded", async () => {
    const id = await account();
    await run();
    const [sale] = intents(id) as [Sale];
    await deliverSignedEvent(gateway(), t.demo, disputed(sale, "warning_needs_response"));
    const { sale: byHand } = await t.start(id);
    t.demo.shop.pay(byHand);
    await deliverSignedEvent(
      gateway(),
      t.demo,
      buildEventBody("checkout.session.completed", buildCheckoutSession(byHand)),
    );
    await deliverSignedEvent(gateway(), t.demo, refunded(byHand));
    assert.equal(await enabled(id), true);
  });
});

describe("limits of automatic top-ups", () => {
  test("allow one purchase in ten minutes, for any spending and any number of gateways", async () => {
    const id = await account();
    const bought: number[] = [];
    for (let minute = 0; minute <= 30; minute++) {
      await run();
      bought.push(intents(id).length);
      if ((await dollarsOf(id)) >= 20) await spend(id, dollars(19));
      clock.advance(MINUTE_MS);
    }
    assert.deepEqual([bought[0], bought[9], bought[10], bought[19], bought[20], bought[30]], [1, 1, 2, 2, 3, 4]);
  });

  test("include the month's maximum, which resets at the start of the month in UTC", async () => {
    const id = await account({ amount: dollars(20), monthMax: dollars(59) });
    const step = async (): Promise<void> => {
      await run();
      if ((await dollarsOf(id)) > 5) await spend(id, dollars(20));
      clock.advance(11 * MINUTE_MS);
    };
    for (let i = 0; i < 6; i++) await step();
    assert.equal(intents(id).length, 2, "a third would come to $60");
    assert.equal((await gateway().topUps.of(id))?.monthSpent, dollars(40));
    assert.equal(await enabled(id), true);
    clock.advance(Date.UTC(2031, 5, 1) - clock.now() - 1);
    await run();
    assert.equal(intents(id).length, 2, "the last millisecond of May");
    clock.advance(1);
    await step();
    assert.equal(intents(id).length, 3);
    assert.equal((await gateway().topUps.of(id))?.monthSpent, dollars(20));
  });

  test("allow no second purchase while one is in flight", async () => {
    const id = await account();
    wire.charge = async () => {
      throw new ProviderUnavailable("no answer");
    };
    await run();
    clock.advance(30 * MINUTE_MS);
    await run();
    const { rows } = await t.db.pool.query(
      "select count(*)::int as count from payment_checkout where account_id = $1",
      [id],
    );
    assert.equal(rows[0].count, 1);
    wire = {};
    clock.advance(60 * MINUTE_MS);
    await run();
    assert.equal(await dollarsOf(id), 20);
  });

  test("exclude suspended accounts", async () => {
    const id = await account();
    await t.db.pool.query("update account set suspended_at = now() where id = $1", [id]);
    await run();
    assert.equal(intents(id).length, 0);
  });
});

describe("a saved card", () => {
  test("is shown by brand and digits, and is not changed by older or repeated events", async () => {
    const id = await t.openBuilder();
    const { sale: old } = await saveCard(id, "0341", clock.now() / 1000);
    clock.advance(5_000);
    const { card } = await saveCard(id, "4242");
    const again = (created: number) =>
      deliverSignedEvent(
        gateway(1),
        t.demo,
        buildEventBody("checkout.session.completed", buildCheckoutSession(old), { created }),
      );
    await again(clock.now() / 1000 - 5);
    assert.deepEqual(await gateway().method(id), { method: card.id, brand: "visa", last4: "4242" });
    await gateway().topUps.set(id, { ...WANTED, enabled: true });
    clock.advance(5_000);
    assert.equal(await gateway().removeMethod(id), true);
    assert.equal(card.customer, null);
    await again(clock.now() / 1000 - 10);
    assert.equal(await gateway().method(id), undefined);
    assert.equal(await enabled(id), false);
    assert.equal(await gateway().topUps.set(id, { ...WANTED, enabled: true }), false);
    assert.equal(await gateway().removeMethod(id), false);
    await run();
    assert.equal(intents(id).length, 0);
  });

  test("belongs to one provider customer even if two gateways open pages to save it; the number of such pages is limited", async () => {
    const accountId = await t.openBuilder();
    const page = { accountId, successUrl: "http://a.test/", cancelUrl: "http://a.test/" };
    await Promise.all([gateway(0).openSetup(page), gateway(1).openSetup(page)]);
    const { rows } = await t.db.pool.query("select from payment_customer where account_id = $1", [accountId]);
    assert.equal(rows.length, 1);
    for (let i = 2; i < 10; i++) await gateway().openSetup(page);
    await assert.rejects(gateway().openSetup(page), { code: "rate_limit_requests" });
    clock.advance(60 * MINUTE_MS);
    await gateway().openSetup(page);
  });

  test("two pages to save a card, opened at the same time, both count toward the account's limit", async () => {
    const accountId = await t.openBuilder();
    const page = { accountId, successUrl: "http://a.test/", cancelUrl: "http://a.test/" };
    await gateway().openSetup(page);
    clock.advance(60 * MINUTE_MS);
    const client = await t.db.pool.connect();
    await client.query("begin");
    await client.query("select from payment_customer where account_id = $1 for update", [accountId]);
    const opening = Promise.all([gateway(0).openSetup(page), gateway(1).openSetup(page)]);
    await eventually("both have read the row, and wait for it", async () => {
      const text =
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%update payment_customer%'";
      return (await t.db.pool.query(text)).rowCount === 2;
    });
    await client.query("commit");
    client.release();
    await opening;
    const { rows } = await t.db.pool.query("select setups from payment_customer where account_id = $1", [accountId]);
    assert.deepEqual(rows, [{ setups: 2 }]);
  });

  test("of another customer is not stored; while the provider is unreachable, the event is refused so that it is sent again", async () => {
    const stranger = {
      ...(t.demo.shop.sales.at(-1) as Sale),
      customer: "cus_other",
      setup: "seti_other",
      mode: "setup",
    };
    await deliverSignedEvent(
      gateway(),
      t.demo,
      buildEventBody("checkout.session.completed", buildCheckoutSession(stranger as Sale)),
    );
    const id = await t.openBuilder();
    await gateway().openSetup({ accountId: id, successUrl: "http://a.test/", cancelUrl: "http://a.test/" });
    const sale = t.demo.shop.sales.at(-1) as Sale;
    const event = buildEventBody("checkout.session.completed", buildCheckoutSession({ ...sale, state: "saved" }));
    await assert.rejects(deliverSignedEvent(gateway(), t.demo, event), { code: "payment_provider_unavailable" });
    t.demo.shop.save(sale, "4242");
    await deliverSignedEvent(gateway(), t.demo, event);
    assert.equal((await gateway().method(id))?.last4, "4242");
  });
});

describe("the list of payments", () => {
  test("shows purchases, top-ups, refunds and disputes page by page, with their states and receipts", async () => {
    const id = await account();
    await run();
    clock.advance(1000);
    const { sale } = await t.start(id);
    t.demo.shop.pay(sale);
    const send = (type: string, object: object) => deliverSignedEvent(gateway(), t.demo, buildEventBody(type, object));
    await send("checkout.session.completed", buildCheckoutSession(sale));
    const [automatic] = intents(id) as [Sale];
    await send("refund.created", buildRefund(automatic, { id: "re_list", cents: 700, status: "succeeded" }));
    await send("charge.dispute.created", buildDispute(sale, { id: "du_list", cents: 2000, status: "needs_response" }));
    await t.start(id);
    const all = await gateway().list(id, { before: undefined, limit: 10 });
    const seen = all.map(({ kind, state, amount, providerId }) => [
      kind,
      state,
      Number(amount / PICO_PER_DOLLAR),
      providerId,
    ]);
    assert.deepEqual(
      new Set(seen.map(String)),
      new Set(
        [
          ["purchase", "paid", 20, null],
          ["automatic", "paid", 20, null],
          ["refund", "paid", 7, "re_list"],
          ["dispute", "open", 20, "du_list"],
        ].map(String),
      ),
    );
    const paged: string[] = [];
    for (let before: string | undefined; ; before = paged.at(-1)) {
      const [next] = await gateway().list(id, { before, limit: 1 });
      if (next === undefined) break;
      paged.push(next.place);
    }
    assert.deepEqual(
      paged,
      all.map(({ place }) => place),
    );
    for (const { purchaseId } of all) {
      const found = await gateway().receipts(id, purchaseId);
      assert.match(String(found?.receipt), /\/receipts\//);
      assert.equal((await fetch(String(found?.receipt))).status, 200);
    }
    assert.equal(await gateway().receipts(await t.openBuilder(), all[0]?.purchaseId as Uuid), undefined);
  });
});
