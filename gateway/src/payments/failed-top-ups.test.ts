/** An automatic top-up that fails, or is refunded or disputed, turns top-ups off and tells the owners. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import {
  buildCheckoutSession,
  buildDispute,
  buildPaymentIntent,
  buildRefund,
} from "@tollgate/demo-provider/api-objects.ts";
import type { SaleRecord, SavedCard } from "@tollgate/demo-provider/sale-record.ts";
import { dollars } from "../base/money.ts";
import { MINUTE_MS } from "../base/time.ts";
import { assertLedgerBalances, buildEventBody, deliverSignedEvent } from "./testing-payments.ts";
import { openTopUpRig, type TopUpRig, WANTED_TOP_UP_SETTINGS } from "./testing-top-ups.ts";

let t: TopUpRig;
before(async () => {
  t = await openTopUpRig();
});
beforeEach(() => {
  t.mailed.length = 0;
});
afterEach(() => assertLedgerBalances(t.db));
after(() => t.close());

describe("a failed automatic top-up", () => {
  for (const [last4, failure, words] of [
    ["0341", "declined", /declined the saved card/],
    ["3155", "authentication_required", /requires the cardholder to confirm/],
  ] as const) {
    test(`${failure}: turns top-ups off and emails the owners once, even if the event is delivered twice`, async () => {
      const id = await t.account({ last4 });
      await t.run();
      const off = await t.gateway().topUps.of(id);
      assert.deepEqual([off?.enabled, off?.failure, off?.failedAt?.getTime()], [false, failure, t.clock.now()]);
      const [sale] = t.intents(id) as [SaleRecord];
      const body = buildEventBody("payment_intent.payment_failed", buildPaymentIntent(sale));
      await Promise.all([
        deliverSignedEvent(t.gateway(0), t.demo, body),
        deliverSignedEvent(t.gateway(1), t.demo, body),
      ]);
      await t.deliverer.send();
      const mailed = t.mailed.filter(({ to }) => to === `${id}@example.test`);
      assert.deepEqual(
        mailed.map(({ subject }) => subject),
        ["Tollgate: automatic top-up was turned off"],
      );
      assert.match(String(mailed[0]?.text), words);
      t.clock.advance(20 * MINUTE_MS);
      await t.run();
      assert.equal(t.intents(id).length, 1);
      assert.equal(off?.monthSpent, 0n, "what failed does not count against the month");
    });
  }

  test("is recognized when the provider no longer has the card", async () => {
    const id = await t.account();
    const card = t.demo.shop.cards.at(-1) as SavedCard;
    card.customer = null;
    await t.run();
    assert.equal((await t.gateway().topUps.of(id))?.failure, "declined");
  });

  test("counts as resolved when an owner confirms that automatic top-ups stay off", async () => {
    const id = await t.account({ last4: "0341" });
    await t.run();
    assert.equal((await t.gateway().topUps.of(id))?.failure, "declined");
    await t.gateway().topUps.set(id, { ...WANTED_TOP_UP_SETTINGS, enabled: false });
    const kept = await t.gateway().topUps.of(id);
    assert.deepEqual([kept?.enabled, kept?.failure, kept?.failedAt], [false, null, null]);
  });

  test("allows the next top-up ten minutes later, once automatic top-ups are on again", async () => {
    const id = await t.account({ last4: "0341" });
    await t.run();
    await t.saveCard(id, "4242");
    await t.gateway().topUps.set(id, { ...WANTED_TOP_UP_SETTINGS, enabled: true });
    assert.equal((await t.gateway().topUps.of(id))?.failure, null);
    await t.run();
    assert.equal(await t.dollarsOf(id), 0);
    t.clock.advance(10 * MINUTE_MS);
    await t.run();
    assert.equal(await t.dollarsOf(id), 20);
  });
});

describe("a reversed automatic top-up", () => {
  const disputed = (sale: SaleRecord, status: string): string =>
    buildEventBody("charge.dispute.created", buildDispute(sale, { id: `du_${sale.payment}`, cents: 2000, status }));
  const refunded = (sale: SaleRecord): string =>
    buildEventBody("refund.created", buildRefund(sale, { id: `re_${sale.payment}`, cents: 700, status: "succeeded" }));
  for (const [what, failure, body, words] of [
    [
      "disputed",
      "disputed",
      (sale: SaleRecord) => disputed(sale, "needs_response"),
      /was disputed: the cardholder asked/,
    ],
    [
      "lost in a dispute",
      "disputed",
      (sale: SaleRecord) => disputed(sale, "lost"),
      /was disputed: the cardholder asked/,
    ],
    ["refunded", "refunded", refunded, /was refunded/],
  ] as const) {
    test(`turns top-ups off and emails the owners once when it is ${what}`, async () => {
      const id = await t.account();
      await t.run();
      const [sale] = t.intents(id) as [SaleRecord];
      await Promise.all([
        deliverSignedEvent(t.gateway(0), t.demo, body(sale)),
        deliverSignedEvent(t.gateway(1), t.demo, body(sale)),
      ]);
      await deliverSignedEvent(t.gateway(), t.demo, body(sale));
      const off = await t.gateway().topUps.of(id);
      assert.deepEqual([off?.enabled, off?.failure, off?.failedAt?.getTime()], [false, failure, t.clock.now()]);
      await t.deliverer.send();
      const mailed = t.mailed.filter(({ to }) => to === `${id}@example.test`);
      assert.deepEqual(
        mailed.map(({ subject }) => subject),
        ["Tollgate: automatic top-up was turned off"],
      );
      assert.match(String(mailed[0]?.text), words);
      t.clock.advance(20 * MINUTE_MS);
      if ((await t.dollarsOf(id)) > 0) await t.spend(id, dollars(13));
      await t.run();
      assert.equal(t.intents(id).length, 1, "nothing is bought again");
    });
  }

  test("leaves top-ups on if a bank only inquires, or if a purchase that was made by hand is refunded", async () => {
    const id = await t.account();
    await t.run();
    const [sale] = t.intents(id) as [SaleRecord];
    await deliverSignedEvent(t.gateway(), t.demo, disputed(sale, "warning_needs_response"));
    const { sale: byHand } = await t.start(id);
    t.demo.shop.pay(byHand);
    await deliverSignedEvent(
      t.gateway(),
      t.demo,
      buildEventBody("checkout.session.completed", buildCheckoutSession(byHand)),
    );
    await deliverSignedEvent(t.gateway(), t.demo, refunded(byHand));
    assert.equal(await t.enabled(id), true);
  });
});
