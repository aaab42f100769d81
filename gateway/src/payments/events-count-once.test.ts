/**
 * Tests that each payment event counts exactly once, with concurrent deliveries to two gateways and connections that
 * break midway.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { buildCharge, buildCheckoutSession, buildDispute } from "@tollgate/demo-provider/api-objects.ts";
import type { SaleRecord } from "@tollgate/demo-provider/sale-record.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Uuid } from "../base/ids.ts";
import { dollars } from "../base/money.ts";
import {
  assertLedgerBalances,
  buildEventBody,
  deliverSignedEvent,
  openTestPayments,
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

async function paidSale(): Promise<{ account: Uuid; id: Uuid; sale: SaleRecord }> {
  const account = await t.openBuilder();
  const { id, sale } = await t.start(account);
  return { account, id, sale: { ...sale, state: "paid", payment: `pi_${id}`, charge: `ch_${id}` } };
}

async function rowsFor(account: Uuid, id: Uuid): Promise<Record<string, unknown>> {
  const { rows } = await t.db.pool.query(
    `select (select count(*)::int from transfer where account_id = $1) as transfers,
            (select count(*)::int from payment_move where checkout_id = $2) as moves,
            (select count(*)::int from payment_event where checkout_id = $2) as events,
            (select state from payment_checkout where id = $2) as state`,
    [account, id],
  );
  return rows[0];
}

describe("concurrent payment events", () => {
  test("credit once for 50 deliveries of one event to two gateways", async () => {
    const { account, id, sale } = await paidSale();
    const body = buildEventBody("checkout.session.completed", buildCheckoutSession(sale), { id: `evt_${id}` });
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => deliverSignedEvent(t.receivers[i % 2 ? 1 : 0], t.demo, body)),
    );
    assert.equal(await t.balance(account), dollars(20));
    assert.deepEqual(await rowsFor(account, id), { transfers: 1, moves: 1, events: 1, state: "paid" });
    const { rows } = await t.db.pool.query("select deliveries from payment_event where provider_event = $1", [
      `evt_${id}`,
    ]);
    assert.deepEqual(rows, [{ deliveries: 50 }]);
  });

  test("reach the right sum for 50 different events of one checkout, with refunds and disputes", async () => {
    const { account, id, sale } = await paidSale();
    const refunded = { ...sale, refunds: [{ id: `re_${id}`, cents: 700, status: "succeeded" }] };
    const dispute = { id: `du_${id}`, cents: 500, status: "needs_response" };
    const kinds = [
      () => buildEventBody("checkout.session.completed", buildCheckoutSession(sale)),
      () => buildEventBody("checkout.session.async_payment_succeeded", buildCheckoutSession(sale)),
      () => buildEventBody("charge.refunded", buildCharge(refunded)),
      () => buildEventBody("charge.dispute.created", buildDispute(sale, dispute)),
      () =>
        buildEventBody("checkout.session.expired", buildCheckoutSession({ ...sale, payment: null, state: "expired" })),
    ];
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => {
        const body = (kinds[i % kinds.length] as () => string)();
        return deliverSignedEvent(t.receivers[i % 2 ? 1 : 0], t.demo, body);
      }),
    );
    assert.equal(await t.balance(account), dollars(20 - 7 - 5));
    const { transfers, moves, state } = await rowsFor(account, id);
    assert.deepEqual({ transfers, moves, state }, { transfers: 3, moves: 3, state: "paid" });
  });

  test("combine a payment and its refund that arrive at different gateways", async () => {
    for (const knownBefore of [false, true, true, true, true, true]) {
      const { account, id, sale } = await paidSale();
      const refund = { id: `re_${id}`, cents: 500, status: "succeeded" };
      const told = (more: (typeof refund)[]) =>
        buildEventBody("charge.refunded", buildCharge({ ...sale, refunds: [refund, ...more] }));
      if (knownBefore) await deliverSignedEvent(t.receivers[0], t.demo, told([]));
      const rest = { id: `re_rest_${id}`, cents: 1500, status: "succeeded" };
      await Promise.all([
        deliverSignedEvent(
          t.receivers[0],
          t.demo,
          buildEventBody("checkout.session.completed", buildCheckoutSession(sale)),
        ),
        deliverSignedEvent(t.receivers[1], t.demo, told([rest])),
      ]);
      assert.equal(await t.balance(account), 0n);
    }
  });
});

describe("interrupted payment events", () => {
  /** Runs `work` while the ledger is locked, so that a delivery waits in its transaction just before it moves money. */
  async function stopped(body: string, work: (pid: number, delivery: Promise<void>) => Promise<void>): Promise<void> {
    const blocker = await t.db.pool.connect();
    try {
      await blocker.query("begin");
      await blocker.query("select from ledger_account for update");
      const delivery = deliverSignedEvent(t.receivers[0], t.demo, body);
      const pid = await eventually("the delivery waits for the ledger", async () => {
        const { rows } = await t.db.pool.query(
          "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%ledger_transfer%'",
        );
        return rows[0]?.pid as number | undefined;
      });
      await work(pid as number, delivery);
    } finally {
      await blocker.query("rollback");
      blocker.release();
    }
  }

  test("leave no change if the connection is killed before the commit, and the next delivery credits once", async () => {
    const { account, id, sale } = await paidSale();
    const body = buildEventBody("checkout.session.completed", buildCheckoutSession(sale), { id: `evt_${id}` });
    await stopped(body, async (pid, delivery) => {
      const failed = assert.rejects(delivery);
      // Terminates the connection, as if the gateway's machine failed without a rollback.
      await t.db.pool.query("select pg_terminate_backend($1)", [pid]);
      await failed;
      assert.deepEqual(await rowsFor(account, id), { transfers: 0, moves: 0, events: 0, state: "open" });
      assert.equal(await t.balance(account), 0n);
    });
    await Promise.all(t.receivers.map((receiver) => deliverSignedEvent(receiver, t.demo, body)));
    assert.equal(await t.balance(account), dollars(20));
    assert.deepEqual(await rowsFor(account, id), { transfers: 1, moves: 1, events: 1, state: "paid" });
  });

  test("are acknowledged only after the commit", async () => {
    const { account, sale } = await paidSale();
    let acknowledged = false;
    let finished: Promise<void> | undefined;
    await stopped(buildEventBody("checkout.session.completed", buildCheckoutSession(sale)), async (_pid, delivery) => {
      finished = delivery.then(() => {
        acknowledged = true;
      });
      await t.db.pool.query("select 1");
      assert.equal(acknowledged, false);
      assert.equal(await t.balance(account), 0n);
    });
    await finished;
    assert.equal(await t.balance(account), dollars(20));
  });

  test("are rolled back if the transaction fails at its very end", async () => {
    const { account, id, sale } = await paidSale();
    const body = buildEventBody("checkout.session.completed", buildCheckoutSession(sale), { id: `evt_${id}` });
    await t.db.pool.query(
      `create function refuse_events() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
       create trigger refuse_events before insert on payment_event for each row execute function refuse_events()`,
    );
    try {
      await assert.rejects(deliverSignedEvent(t.receivers[0], t.demo, body), /no/);
    } finally {
      await t.db.pool.query("drop trigger refuse_events on payment_event; drop function refuse_events");
    }
    assert.deepEqual(await rowsFor(account, id), { transfers: 0, moves: 0, events: 0, state: "open" });
    await deliverSignedEvent(t.receivers[1], t.demo, body);
    assert.equal(await t.balance(account), dollars(20));
  });

  test("cannot credit a checkout twice, because a database constraint refuses it", async () => {
    const { account, id, sale } = await paidSale();
    await deliverSignedEvent(
      t.receivers[0],
      t.demo,
      buildEventBody("checkout.session.completed", buildCheckoutSession(sale)),
    );
    const transfer = { id: t.newId(), kind: "purchase", accountId: account, amount: dollars(20) } as const;
    await t.ledger.transfer({ ...transfer, kind: "grant", reason: "a forged one" });
    await assert.rejects(
      t.db.pool.query(
        "insert into payment_move (checkout_id, ordinal, kind, amount, transfer_id) values ($1, 2, 'purchase', 1, $2)",
        [id, transfer.id],
      ),
      /payment_credited_once/,
    );
  });
});
