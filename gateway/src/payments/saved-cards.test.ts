/** The card that an account saved at the payment provider. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { buildCheckoutSession } from "@tollgate/demo-provider/api-objects.ts";
import type { SaleRecord } from "@tollgate/demo-provider/sale-record.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { MINUTE_MS } from "../base/time.ts";
import { assertLedgerBalances, buildEventBody, deliverSignedEvent } from "./testing-payments.ts";
import { openTopUpRig, type TopUpRig, WANTED_TOP_UP_SETTINGS } from "./testing-top-ups.ts";

let t: TopUpRig;
before(async () => {
  t = await openTopUpRig();
});
afterEach(() => assertLedgerBalances(t.db));
after(() => t.close());

describe("a saved card", () => {
  test("is shown by brand and digits, and is not changed by older or repeated events", async () => {
    const id = await t.openBuilder();
    const { sale: old } = await t.saveCard(id, "0341", t.clock.now() / 1000);
    t.clock.advance(5_000);
    const { card } = await t.saveCard(id, "4242");
    const again = (created: number) =>
      deliverSignedEvent(
        t.gateway(1),
        t.demo,
        buildEventBody("checkout.session.completed", buildCheckoutSession(old), { created }),
      );
    await again(t.clock.now() / 1000 - 5);
    assert.deepEqual(await t.gateway().method(id), { method: card.id, brand: "visa", last4: "4242" });
    await t.gateway().topUps.set(id, { ...WANTED_TOP_UP_SETTINGS, enabled: true });
    t.clock.advance(5_000);
    assert.equal(await t.gateway().removeMethod(id), true);
    assert.equal(card.customer, null);
    await again(t.clock.now() / 1000 - 10);
    assert.equal(await t.gateway().method(id), undefined);
    assert.equal(await t.enabled(id), false);
    assert.equal(await t.gateway().topUps.set(id, { ...WANTED_TOP_UP_SETTINGS, enabled: true }), false);
    assert.equal(await t.gateway().removeMethod(id), false);
    await t.run();
    assert.equal(t.intents(id).length, 0);
  });

  test("belongs to one provider customer even if two gateways open pages to save it; the number of such pages is limited", async () => {
    const accountId = await t.openBuilder();
    const page = { accountId, successUrl: "http://a.test/", cancelUrl: "http://a.test/" };
    await Promise.all([t.gateway(0).openSetup(page), t.gateway(1).openSetup(page)]);
    const { rows } = await t.db.pool.query("select from payment_customer where account_id = $1", [accountId]);
    assert.equal(rows.length, 1);
    for (let i = 2; i < 10; i++) await t.gateway().openSetup(page);
    await assert.rejects(t.gateway().openSetup(page), { code: "rate_limit_requests" });
    t.clock.advance(60 * MINUTE_MS);
    await t.gateway().openSetup(page);
  });

  test("counts each page opened to save it toward the account's limit, even if two pages are opened at the same time", async () => {
    const accountId = await t.openBuilder();
    const page = { accountId, successUrl: "http://a.test/", cancelUrl: "http://a.test/" };
    await t.gateway().openSetup(page);
    t.clock.advance(60 * MINUTE_MS);
    const client = await t.db.pool.connect();
    await client.query("begin");
    await client.query("select from payment_customer where account_id = $1 for update", [accountId]);
    const opening = Promise.all([t.gateway(0).openSetup(page), t.gateway(1).openSetup(page)]);
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
      ...(t.demo.shop.sales.at(-1) as SaleRecord),
      customer: "cus_other",
      setup: "seti_other",
      mode: "setup",
    };
    await deliverSignedEvent(
      t.gateway(),
      t.demo,
      buildEventBody("checkout.session.completed", buildCheckoutSession(stranger as SaleRecord)),
    );
    const id = await t.openBuilder();
    await t.gateway().openSetup({ accountId: id, successUrl: "http://a.test/", cancelUrl: "http://a.test/" });
    const sale = t.demo.shop.sales.at(-1) as SaleRecord;
    const event = buildEventBody("checkout.session.completed", buildCheckoutSession({ ...sale, state: "saved" }));
    await assert.rejects(deliverSignedEvent(t.gateway(), t.demo, event), { code: "payment_provider_unavailable" });
    t.demo.shop.save(sale, "4242");
    await deliverSignedEvent(t.gateway(), t.demo, event);
    assert.equal((await t.gateway().method(id))?.last4, "4242");
  });
});
