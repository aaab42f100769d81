import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { OPEN_CHECKOUTS_MAX } from "@tollgate/api/api-limits.ts";
import { buildCheckoutSession } from "@tollgate/demo-provider/api-objects.ts";
import type { Uuid } from "../base/ids.ts";
import { Fault } from "../faults.ts";
import { buildEventBody, deliverSignedEvent, openTestPayments, type TestPayments } from "./testing-payments.ts";

let t: TestPayments;
before(async () => {
  t = await openTestPayments();
});
after(() => t.close());

async function refusalOf(accountId: Uuid): Promise<Fault> {
  const error = await t.start(accountId).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof Fault, "it is refused");
  return error;
}

async function full(): Promise<Uuid> {
  const account = await t.openBuilder();
  for (let i = 0; i < OPEN_CHECKOUTS_MAX; i++) await t.start(account);
  return account;
}

describe("open checkouts of one account", () => {
  test("have a limit: the next one is refused with a retry time, and not opened at the provider", async () => {
    const account = await full();
    const sales = t.demo.shop.sales.length;
    const refused = await refusalOf(account);
    assert.deepEqual([refused.status, refused.code], [429, "rate_limit_requests"]);
    assert.match(refused.message, /10 checkouts of the last hour are still open\./);
    const wait = Number(refused.headers["retry-after"]);
    // The wait is an hour less the time since the checkouts were opened.
    assert.ok(wait > 0 && wait <= 3600, `${wait}`);
    assert.equal(refused.retry, "never", "nobody waits for an hour on their own");
    assert.equal(t.demo.shop.sales.length, sales);
    await t.start(await t.openBuilder());
  });

  test("no longer count when they are paid, expired or older than an hour", async () => {
    const account = await full();
    const { sales } = t.demo.shop;
    for (const [sale, state] of [
      [sales.at(-1), "paid"],
      [sales.at(-2), "expired"],
    ] as const) {
      assert.ok(sale !== undefined);
      const type = state === "paid" ? "checkout.session.completed" : "checkout.session.expired";
      const ended = { ...sale, state, payment: `pi_${sale.session}`, charge: `ch_${sale.session}` };
      await deliverSignedEvent(t.receivers[0], t.demo, buildEventBody(type, buildCheckoutSession(ended)));
    }
    await t.start(account);
    await t.start(account);
    assert.equal((await refusalOf(account)).status, 429);
    await t.db.pool.query(
      `update payment_checkout set created_at = created_at - interval '1 hour'
        where id = (select id from payment_checkout where account_id = $1 and state = 'open' order by id limit 1)`,
      [account],
    );
    await t.start(account);
    assert.equal((await refusalOf(account)).status, 429);
  });

  test("stay within the limit when many are opened concurrently", async () => {
    const account = await t.openBuilder();
    const started = await Promise.allSettled(Array.from({ length: 30 }, () => t.start(account)));
    assert.equal(started.filter(({ status }) => status === "fulfilled").length, OPEN_CHECKOUTS_MAX);
    const { rows } = await t.db.pool.query(
      "select count(*)::int as count from payment_checkout where account_id = $1",
      [account],
    );
    assert.equal(rows[0].count, OPEN_CHECKOUTS_MAX);
  });
});
