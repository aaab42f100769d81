import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { buildCharge, buildCheckoutSession, buildDispute, buildRefund } from "@tollgate/demo-provider/api-objects.ts";
import type { RefundOrDispute, SaleRecord } from "@tollgate/demo-provider/sale-record.ts";
import { systemClock } from "../base/clock.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import { dollars, PICO_PER_DOLLAR } from "../base/money.ts";
import { createTestHold } from "../ledger/testing.ts";
import { openPayments } from "./payments.ts";
import {
  assertLedgerBalances,
  buildEventBody,
  createStripeProviderAt,
  deliverSignedEvent,
  openTestPayments,
  silentLog,
  type TestPayments,
} from "./testing-payments.ts";

let t: TestPayments;
before(async () => {
  t = await openTestPayments();
});
after(async () => {
  await assertLedgerBalances(t.db);
  await t.close();
});

const send = (type: string, object: object, more?: Parameters<typeof buildEventBody>[2]): Promise<void> =>
  deliverSignedEvent(t.receivers[0], t.demo, buildEventBody(type, object, more));

/** The account's balance in dollars. */
const dollarsOf = async (accountId: Uuid): Promise<number> =>
  Number((await t.balance(accountId)) / (PICO_PER_DOLLAR / 100n)) / 100;

async function bought(packId = "pack_20"): Promise<{ account: Uuid; id: Uuid; sale: SaleRecord; paid: SaleRecord }> {
  const account = await t.openBuilder();
  const { id, sale } = await t.start(account, packId);
  const payment = `pi_${id}`;
  return { account, id, sale, paid: { ...sale, state: "paid", payment, charge: `ch_${id}` } };
}

async function stateOf(id: Uuid): Promise<string> {
  const { rows } = await t.db.pool.query("select state from payment_checkout where id = $1", [id]);
  return rows[0].state;
}

async function outcomeOf(event: string): Promise<{ outcome: string; deliveries: number } | undefined> {
  const { rows } = await t.db.pool.query("select outcome, deliveries from payment_event where provider_event = $1", [
    event,
  ]);
  return rows[0];
}

const reversal = (id: string, cents: number, status: string): RefundOrDispute => ({ id, cents, status });

describe("a payment event", () => {
  test("credits a paid checkout once, with a reason that the owner can understand", async () => {
    const { account, id, paid } = await bought("pack_100");
    await send("checkout.session.completed", buildCheckoutSession(paid), { id: "evt_paid" });
    assert.equal(await dollarsOf(account), 100);
    assert.equal(await stateOf(id), "paid");
    await send("checkout.session.completed", buildCheckoutSession(paid), { id: "evt_paid" });
    await send("checkout.session.async_payment_succeeded", buildCheckoutSession(paid));
    assert.equal(await dollarsOf(account), 100);
    const { rows } = await t.db.pool.query("select kind, amount, reason from transfer where account_id = $1", [
      account,
    ]);
    const reason = `pack_100 bought (${publicId("pay", id)})`;
    assert.deepEqual(rows, [{ kind: "purchase", amount: dollars(100), reason }]);
    assert.deepEqual(await outcomeOf("evt_paid"), { outcome: "applied", deliveries: 2 });
  });

  test("credits a delayed payment only when its money arrives", async () => {
    const { account, id, paid } = await bought();
    await send("checkout.session.completed", buildCheckoutSession({ ...paid, state: "pending" }));
    assert.deepEqual([await dollarsOf(account), await stateOf(id)], [0, "pending"]);
    await send("checkout.session.async_payment_succeeded", buildCheckoutSession(paid));
    assert.deepEqual([await dollarsOf(account), await stateOf(id)], [20, "paid"]);
  });

  test("credits nothing for a failed delayed payment and an expired checkout", async () => {
    const failed = await bought();
    await send("checkout.session.completed", buildCheckoutSession({ ...failed.paid, state: "pending" }));
    await send("checkout.session.async_payment_failed", buildCheckoutSession({ ...failed.paid, state: "failed" }));
    assert.deepEqual([await dollarsOf(failed.account), await stateOf(failed.id)], [0, "failed"]);
    const expired = await bought();
    await send("checkout.session.expired", buildCheckoutSession({ ...expired.sale, state: "expired" }));
    assert.deepEqual([await dollarsOf(expired.account), await stateOf(expired.id)], [0, "expired"]);
  });

  test("debits only the part of a refund that earlier events did not debit, even if the balance falls below zero", async () => {
    const { account, paid } = await bought();
    await send("checkout.session.completed", buildCheckoutSession(paid));
    await t.ledger.transfer({
      id: t.newId(),
      kind: "payout",
      accountId: account,
      amount: dollars(19),
      reason: "spent",
    });
    const refunds = [reversal("re_a", 500, "succeeded"), reversal("re_b", 1500, "succeeded")];
    await send("charge.refunded", buildCharge({ ...paid, refunds: refunds.slice(0, 1) }));
    assert.equal(await dollarsOf(account), -4);
    await send("charge.refunded", buildCharge({ ...paid, refunds }));
    await send("charge.refunded", buildCharge({ ...paid, refunds: refunds.slice(0, 1) }));
    assert.equal(await dollarsOf(account), -19);
    const { rows } = await t.db.pool.query("select overdrawn from ledger_account where id = $1", [account]);
    assert.equal(rows[0].overdrawn, true);
  });

  test("debits a refund once even if a refund event and a charge event report it, and credits it back if it fails", async () => {
    const { account, paid } = await bought();
    const refund = reversal("re_c", 700, "pending");
    await send("checkout.session.completed", buildCheckoutSession(paid));
    await send("refund.created", buildRefund(paid, refund));
    assert.equal(await dollarsOf(account), 13);
    await send("charge.refunded", buildCharge({ ...paid, refunds: [refund] }));
    assert.equal(await dollarsOf(account), 13);
    await send("refund.failed", buildRefund(paid, { ...refund, status: "failed" }), { created: 1_900_000_001 });
    assert.equal(await dollarsOf(account), 20);
    // The refund total is the same as after the first refund, which failed, but this is a second refund.
    const second = reversal("re_d", 700, "succeeded");
    await send("charge.refunded", buildCharge({ ...paid, refunds: [second] }), { created: 1_900_000_002 });
    await send("refund.created", buildRefund(paid, second), { created: 1_900_000_002 });
    assert.equal(await dollarsOf(account), 13);
  });

  test("debits a dispute, credits it again if won, and keeps it debited if lost", async () => {
    for (const [result, balance] of [
      ["won", 20],
      ["lost", 0],
    ] as const) {
      const { account, id, paid } = await bought();
      const dispute = reversal(`du_${id}`, 2000, "needs_response");
      await send("checkout.session.completed", buildCheckoutSession(paid));
      await send("charge.dispute.created", buildDispute(paid, dispute));
      await send("charge.dispute.funds_withdrawn", buildDispute(paid, dispute));
      assert.equal(await dollarsOf(account), 0);
      await send("charge.dispute.closed", buildDispute(paid, { ...dispute, status: result }), {
        created: 1_900_000_001,
      });
      assert.equal(await dollarsOf(account), balance, result);
    }
  });

  type DisputeNews = "paid" | "opened" | "withdrawn" | "lost";
  const orders: DisputeNews[][] = [
    ["paid", "opened", "withdrawn", "lost"],
    ["paid", "lost"],
    ["lost", "paid"],
    ["opened", "lost", "paid", "opened", "paid"],
    ["paid", "lost", "withdrawn", "opened", "lost"],
  ];
  for (const order of orders) {
    test(`debits a lost dispute once if the events arrive in the order ${order.join(", ")}`, async () => {
      const { account, id, paid } = await bought();
      const dispute = (status: string) => buildDispute(paid, reversal(`du_${id}`, 2000, status));
      const news: Record<DisputeNews, () => Promise<void>> = {
        paid: () => send("checkout.session.completed", buildCheckoutSession(paid)),
        opened: () => send("charge.dispute.created", dispute("needs_response")),
        withdrawn: () => send("charge.dispute.funds_withdrawn", dispute("needs_response")),
        lost: () => send("charge.dispute.closed", dispute("lost"), { created: 1_900_000_001 }),
      };
      for (const each of order) await news[each]();
      assert.equal(await dollarsOf(account), 0);
      assert.deepEqual(await t.ledger.hold(createTestHold(account, 1n)), { kind: "no_credit" });
      const text = "select kind, amount from payment_move where checkout_id = $1 order by ordinal";
      assert.deepEqual((await t.db.pool.query(text, [id])).rows, [
        { kind: "purchase", amount: dollars(20) },
        { kind: "dispute", amount: dollars(-20) },
      ]);
      const [listed] = await t.receivers[0].list(account, { before: undefined, limit: 1 });
      assert.deepEqual([listed?.kind, listed?.state], ["dispute", "lost"]);
    });
  }

  test("debits nothing for an inquiry, but debits the dispute that follows", async () => {
    const { account, id, paid } = await bought();
    const inquiry = reversal(`du_${id}`, 2000, "warning_needs_response");
    await send("checkout.session.completed", buildCheckoutSession(paid));
    await send("charge.dispute.created", buildDispute(paid, inquiry));
    assert.equal(await dollarsOf(account), 20);
    await send("charge.dispute.updated", buildDispute(paid, { ...inquiry, status: "under_review" }), {
      created: 1_900_000_001,
    });
    assert.equal(await dollarsOf(account), 0);
  });
});

describe("a payment event that does not match a checkout", () => {
  const cases: [string, (session: object) => object][] = [
    ["too little was paid", (session) => ({ ...session, amount_total: 1999 })],
    ["too much was paid", (session) => ({ ...session, amount_total: 2001 })],
    ["far too much was paid", (session) => ({ ...session, amount_total: Number.MAX_SAFE_INTEGER })],
    ["another currency", (session) => ({ ...session, currency: "eur" })],
    ["no amount", (session) => ({ ...session, amount_total: null })],
    ["nothing was due", (session) => ({ ...session, payment_status: "no_payment_required", payment_intent: null })],
    ["another checkout's ID", (session) => ({ ...session, client_reference_id: `pay_${"0".repeat(26)}` })],
    ["no checkout ID", (session) => ({ ...session, client_reference_id: null })],
  ];
  for (const [what, change] of cases) {
    test(`credits nothing: ${what}`, async () => {
      const { account, id, paid } = await bought();
      await send("checkout.session.completed", change(buildCheckoutSession(paid)), { id: `evt_${id}` });
      assert.deepEqual([await dollarsOf(account), await stateOf(id)], [0, "mismatch"]);
      assert.equal((await outcomeOf(`evt_${id}`))?.outcome, "mismatch");
      const alert = t.logged.findLast(({ event }) => event === `evt_${id}`);
      assert.equal(alert?.level, 50);
      assert.match(String(alert?.msg), /does not match its checkout/);
      // The provider returns the payment to the buyer. The account was never credited, so nothing is debited.
      await send("charge.refunded", buildCharge({ ...paid, refunds: [reversal(`re_${id}`, 2000, "succeeded")] }));
      assert.equal(await dollarsOf(account), 0);
    });
  }

  test("debits nothing for a refund in another currency, and raises an alert", async () => {
    const { account, id, paid } = await bought();
    await send("checkout.session.completed", buildCheckoutSession(paid));
    const refund = buildRefund({ ...paid, currency: "eur" }, reversal(`re_${id}`, 2000, "succeeded"));
    await send("refund.created", refund, { id: `evt_${id}` });
    assert.equal(await dollarsOf(account), 20);
    assert.equal((await outcomeOf(`evt_${id}`))?.outcome, "mismatch");
    assert.ok(t.logged.some(({ event, level }) => event === `evt_${id}` && level === 50));
  });

  test("raises an alert for a second payment of one checkout instead of crediting again", async () => {
    const { account, id, paid } = await bought();
    await send("checkout.session.completed", buildCheckoutSession(paid));
    await send("checkout.session.completed", buildCheckoutSession({ ...paid, payment: `pi_other_${id}` }), {
      id: `evt_${id}`,
    });
    assert.equal(await dollarsOf(account), 20);
    assert.equal((await outcomeOf(`evt_${id}`))?.outcome, "mismatch");
  });

  test("raises an alert for an unknown checkout, and ignores checkouts of other products", async () => {
    const { sale, paid } = await bought();
    const stranger = { ...buildCheckoutSession(paid), id: "cs_test_stranger" };
    await send("checkout.session.completed", stranger, { id: "evt_stranger" });
    assert.equal((await outcomeOf("evt_stranger"))?.outcome, "unknown");
    assert.ok(t.logged.some(({ event, level }) => event === "evt_stranger" && level === 50));
    await send("checkout.session.completed", { ...stranger, client_reference_id: "order-7" }, { id: "evt_other" });
    assert.equal((await outcomeOf("evt_other"))?.outcome, "ignored");
    assert.equal(sale.state, "open");
  });
});

test("a payment event of an unused type is acknowledged and recorded as ignored", async () => {
  await send("customer.created", { id: "cus_1", object: "customer" }, { id: "evt_customer" });
  assert.deepEqual(await outcomeOf("evt_customer"), { outcome: "ignored", deliveries: 1 });
});

test("another product's refund is acknowledged and ignored, even above the maximum amount", async () => {
  const charge = { payment_intent: "pi_of_a_house", amount_refunded: 2_000_000_000, currency: "usd" };
  await send("charge.refunded", charge, { id: "evt_house" });
  assert.equal((await outcomeOf("evt_house"))?.outcome, "ignored");
});

test("an event that mixes live and test mode is refused", async () => {
  const { account, paid } = await bought();
  const body = buildCheckoutSession(paid);
  await assert.rejects(send("checkout.session.completed", body, { id: "evt_live", livemode: true }), {
    name: "Fault",
    status: 400,
    message: /live mode.*test mode/,
  });
  assert.equal(await outcomeOf("evt_live"), undefined);
  assert.equal(await dollarsOf(account), 0);
});

test("a test-mode event in live mode is refused and credits nothing", async () => {
  const { account, paid } = await bought();
  const { notify, newId } = t;
  const live = openPayments({
    ...{ pool: t.db.pool, notify, newId, clock: systemClock, log: silentLog() },
    provider: { ...createStripeProviderAt(t.demo), live: true },
  });
  const body = buildEventBody("checkout.session.completed", buildCheckoutSession(paid), { id: "evt_test_mode" });
  await assert.rejects(deliverSignedEvent(live, t.demo, body), {
    name: "Fault",
    status: 400,
    message: /This is a test mode event; this gateway uses live mode/,
  });
  assert.equal(await outcomeOf("evt_test_mode"), undefined);
  assert.equal(await dollarsOf(account), 0);
});
