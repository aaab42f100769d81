/** Automatic top-ups buy exactly once despite repeated events and crashes, and within limits beside other purchases. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { buildCharge, buildDispute, buildPaymentIntent, buildRefund } from "@tollgate/demo-provider/api-objects.ts";
import type { SaleRecord } from "@tollgate/demo-provider/sale-record.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import { dollars } from "../base/money.ts";
import { MINUTE_MS } from "../base/time.ts";
import { ProviderUnavailable } from "./payment-provider.ts";
import { assertLedgerBalances, buildEventBody, deliverSignedEvent } from "./testing-payments.ts";
import { openTopUpRig, type TopUpRig } from "./testing-top-ups.ts";

let t: TopUpRig;
before(async () => {
  t = await openTopUpRig();
});
beforeEach(() => {
  delete t.wire.charge;
});
afterEach(() => assertLedgerBalances(t.db));
after(() => t.close());

describe("an automatic top-up", () => {
  test("is made only once if two gateways see the low balance, and is credited without waiting for the webhook", async () => {
    const id = await t.account();
    await t.run();
    assert.equal(t.intents(id).length, 1);
    assert.equal(await t.dollarsOf(id), 20);
    const { rows } = await t.db.pool.query("select kind, reason from transfer where account_id = $1", [id]);
    assert.deepEqual(rows, [{ kind: "purchase", reason: `automatic top-up (${t.intents(id)[0]?.reference})` }]);
    await t.run();
    assert.equal(t.intents(id).length, 1, "above the mark nothing is bought");
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
      const id = await t.account();
      let answer = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        answer = resolve;
      });
      let sale: SaleRecord | undefined;
      t.wire.charge = async (asked) => {
        delete t.wire.charge;
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
      await t.gateway().topUps.begin();
      const asking = t.gateway().topUps.ask();
      const paid = await eventually("the card is charged", () => sale as SaleRecord | undefined);
      const refunds = [{ id: `re_${paid.payment}`, cents: 700, status: "succeeded" }];
      const dispute = { id: `du_${paid.payment}`, cents: 500, status: "needs_response" };
      const failed = { ...paid, state: "failed", failure: "card_declined" } as SaleRecord;
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
          const same = Array.from({ length: 3 }, (_, n) => deliverSignedEvent(t.gateway(n % 2), t.demo, bodies[news]));
          await Promise.all([...same, ...(news === "refund" ? [deliverSignedEvent(t.gateway(1), t.demo, total)] : [])]);
        }
      }
      await t.run();
      assert.equal(await t.dollarsOf(id), 20 - 7 - 5, `order ${round}`);
      // A top-up that failed or was reversed later turns top-ups off. Credited money stays in the account.
      assert.equal(await t.enabled(id), false, `order ${round}`);
      t.clock.advance(20 * MINUTE_MS);
    }
  });

  test("is requested by another gateway if the first died after recording it, and made once", async () => {
    const id = await t.account();
    assert.equal(await t.gateway(0).topUps.begin(), 1);
    // The gateway dies before the provider's call, and in a second round after the call but before processing the
    // response.
    const real = t.wire.charge;
    t.wire.charge = async (order) => {
      delete t.wire.charge;
      await t.gateway(0).topUps.of(id);
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
    await t.gateway(1).topUps.ask();
    assert.deepEqual([t.intents(id).length, await t.dollarsOf(id)], [1, 0]);
    await t.gateway(1).topUps.ask();
    assert.equal(await t.dollarsOf(id), 0, "not while the first may still be asking");
    t.clock.advance(MINUTE_MS);
    await t.run();
    assert.deepEqual([t.intents(id).length, await t.dollarsOf(id)], [1, 20]);
  });

  test("is retried while the provider is unreachable, abandoned after 12 h, and credited if paid later", async () => {
    const id = await t.account();
    let asked = 0;
    t.wire.charge = async () => {
      asked += 1;
      throw new ProviderUnavailable("no answer");
    };
    await t.run();
    const [{ id: checkout }] = (await t.db.pool.query("select id from payment_checkout where account_id = $1", [id]))
      .rows as [{ id: Uuid }];
    for (let i = 0; i < 11; i++) {
      t.clock.advance(60 * MINUTE_MS);
      await t.run();
    }
    assert.ok(asked >= 10, String(asked));
    assert.equal(await t.enabled(id), true);
    for (let i = 0; i < 2; i++) {
      t.clock.advance(60 * MINUTE_MS);
      await t.run();
    }
    const off = await t.gateway().topUps.of(id);
    assert.deepEqual([off?.enabled, off?.failure], [false, "unreachable"]);
    const late = {
      ...(t.demo.shop.sales[0] as SaleRecord),
      mode: "intent",
      state: "paid",
      payment: `pi_${id}`,
      cents: 2000,
    };
    const metadata = { tollgate_checkout: publicId("pay", checkout), tollgate_account: publicId("acc", id) };
    const sale = { ...late, metadata, failure: null } as SaleRecord;
    await deliverSignedEvent(t.gateway(), t.demo, buildEventBody("payment_intent.succeeded", buildPaymentIntent(sale)));
    assert.equal(await t.dollarsOf(id), 20);
    assert.equal(await t.enabled(id), false);
  });
});

describe("limits of automatic top-ups", () => {
  test("allow one purchase in ten minutes, for any spending and any number of gateways", async () => {
    const id = await t.account();
    const bought: number[] = [];
    for (let minute = 0; minute <= 30; minute++) {
      await t.run();
      bought.push(t.intents(id).length);
      if ((await t.dollarsOf(id)) >= 20) await t.spend(id, dollars(19));
      t.clock.advance(MINUTE_MS);
    }
    assert.deepEqual([bought[0], bought[9], bought[10], bought[19], bought[20], bought[30]], [1, 1, 2, 2, 3, 4]);
  });

  test("include the month's maximum, which resets at the start of the month in UTC", async () => {
    const id = await t.account({ amount: dollars(20), monthMax: dollars(59) });
    const step = async (): Promise<void> => {
      await t.run();
      if ((await t.dollarsOf(id)) > 5) await t.spend(id, dollars(20));
      t.clock.advance(11 * MINUTE_MS);
    };
    for (let i = 0; i < 6; i++) await step();
    assert.equal(t.intents(id).length, 2, "a third would come to $60");
    assert.equal((await t.gateway().topUps.of(id))?.monthSpent, dollars(40));
    assert.equal(await t.enabled(id), true);
    t.clock.advance(Date.UTC(2031, 5, 1) - t.clock.now() - 1);
    await t.run();
    assert.equal(t.intents(id).length, 2, "the last millisecond of May");
    t.clock.advance(1);
    await step();
    assert.equal(t.intents(id).length, 3);
    assert.equal((await t.gateway().topUps.of(id))?.monthSpent, dollars(20));
  });

  test("allow no second purchase while one is in flight", async () => {
    const id = await t.account();
    t.wire.charge = async () => {
      throw new ProviderUnavailable("no answer");
    };
    await t.run();
    t.clock.advance(30 * MINUTE_MS);
    await t.run();
    const { rows } = await t.db.pool.query(
      "select count(*)::int as count from payment_checkout where account_id = $1",
      [id],
    );
    assert.equal(rows[0].count, 1);
    delete t.wire.charge;
    t.clock.advance(60 * MINUTE_MS);
    await t.run();
    assert.equal(await t.dollarsOf(id), 20);
  });

  test("exclude suspended accounts", async () => {
    const id = await t.account();
    await t.db.pool.query("update account set suspended_at = now() where id = $1", [id]);
    await t.run();
    assert.equal(t.intents(id).length, 0);
  });
});
