/** Tests the low-credit alert with two gateways: once per fall of the balance, without losing an email. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { buildCheckoutSession } from "@tollgate/demo-provider/api-objects.ts";
import { openIdentities } from "../accounts/identities.ts";
import { cheapPasswordHash } from "../accounts/testing/cheap-password-hash.ts";
import type { Uuid } from "../base/ids.ts";
import { dollars, type Pico, pico } from "../base/money.ts";
import { manualClock } from "../base/testing.ts";
import { HOUR_MS, MINUTE_MS } from "../base/time.ts";
import { waitForBlockedStatement } from "../ledger/testing.ts";
import { type CreditAlerts, openCreditAlerts } from "./credit-alerts.ts";
import {
  buildEventBody,
  deliverSignedEvent,
  openTestPayments,
  silentLog,
  type TestPayments,
} from "./testing-payments.ts";

const clock = manualClock(Date.now());
let t: TestPayments;
let gateways: CreditAlerts[];
let mailServer: "there" | "away" = "there";
before(async () => {
  t = await openTestPayments({
    clock,
    mailing: async () => {
      if (mailServer === "away") throw new Error("connection refused");
    },
  });
  gateways = t.pools.map((pool) => openCreditAlerts({ pool, notify: t.notify, newId: t.newId }));
});
after(() => t.close());
beforeEach(() => {
  mailServer = "there";
  t.mailed.length = 0;
});

/** Creates an account with credit and owners. */
async function account(credit: Pico, owners = 1): Promise<Uuid> {
  const id = await t.openBuilder();
  const { pool } = t.db;
  const identities = await openIdentities({
    pool,
    newId: t.newId,
    log: silentLog(),
    secret: "a secret of tests, 32 characters or more",
    publicUrl: undefined,
    passwordHash: cheapPasswordHash,
  });
  for (let i = 0; i < owners; i++) {
    const email = `owner-${t.newId()}@example.test`;
    const identity = await identities.create({ email, password: "a password", name: "A", operator: false });
    await identities.own(identity, id);
  }
  await move(id, credit);
  return id;
}

const move = (accountId: Uuid, amount: Pico): Promise<string> =>
  t.ledger.transfer({
    id: t.newId(),
    kind: amount > 0n ? "grant" : "refund",
    accountId,
    amount: pico(amount > 0n ? amount : -amount),
    reason: "a test",
  });

const first = (): CreditAlerts => gateways[0] as CreditAlerts;

/**
 * Both gateways check three times concurrently, and then send the notifications. Returns the number of emails so far.
 */
async function look(): Promise<number> {
  await Promise.all([...gateways, ...gateways, ...gateways].map((alerts) => alerts.look()));
  await t.deliverer.send();
  return t.mailed.length;
}

describe("a low-credit alert", () => {
  test("is sent each time the balance falls below the threshold after a recovery", async () => {
    const id = await account(dollars(10));
    await first().set(id, dollars(5));
    assert.equal(await look(), 0);
    await move(id, dollars(-5));
    assert.equal(await look(), 0, "at the mark is not below it");
    await move(id, pico(-1n));
    assert.equal(await look(), 1);
    assert.equal(await look(), 1, "it is told once");
    await move(id, dollars(-1));
    assert.equal(await look(), 1, "further below is no other fall");
    await move(id, pico(dollars(1)));
    assert.equal(await look(), 1, "a rise that stays below arms nothing");
    await move(id, pico(1n));
    assert.equal(await look(), 1);
    await move(id, pico(-1n));
    assert.equal(await look(), 2, "the second fall");
    const { subject, text } = t.mailed[0] as { subject: string; text: string };
    assert.equal(subject, "Tollgate: your balance is below $5.00");
    assert.match(text, /is \$4\.99, below the alert threshold of \$5\.00.*http:\/\/console\.test\/console\/credits/s);
  });

  test("is sent if the balance rose and fell again between two checks, but not if it fell and rose again", async () => {
    const id = await account(dollars(10));
    await first().set(id, dollars(5));
    await move(id, dollars(-6));
    assert.equal(await look(), 1);
    await move(id, dollars(20));
    await move(id, dollars(-20));
    assert.equal(await look(), 2);
    await move(id, dollars(20));
    await move(id, dollars(-20));
    await move(id, dollars(20));
    assert.equal(await look(), 2);
  });

  test("is sent to every owner; if set while the balance is below the threshold, it waits for the next fall", async () => {
    const id = await account(dollars(3), 3);
    await first().set(id, dollars(5));
    assert.deepEqual(await first().of(id), { mark: dollars(5), fallen: true });
    assert.equal(await look(), 0);
    await move(id, dollars(4));
    await move(id, dollars(-4));
    assert.equal(await look(), 3);
    assert.equal(new Set(t.mailed.map(({ to }) => to)).size, 3);
    await first().set(id, null);
    assert.equal(await first().of(id), undefined);
    await move(id, dollars(4));
    await move(id, dollars(-4));
    assert.equal(await look(), 3);
  });

  test("is not sent while a purchase is uncommitted, and resets only when it commits", async () => {
    const id = await account(dollars(10));
    await first().set(id, dollars(5));
    await move(id, dollars(-6));
    assert.equal(await look(), 1);
    const { sale } = await t.start(id);
    const paid = { ...sale, state: "paid", payment: `pi_${id}`, charge: `ch_${id}` } as const;
    // A purchase that has done everything except commit holds the account's lock.
    const client = await t.db.pool.connect();
    await client.query("begin");
    await client.query("select from ledger_account where id = $1 for update", [id]);
    const bought = deliverSignedEvent(
      t.receivers[0],
      t.demo,
      buildEventBody("checkout.session.completed", buildCheckoutSession(paid)),
    );
    try {
      await waitForBlockedStatement(t.db.pool, "%ledger_transfer%");
      assert.deepEqual(await first().of(id), { mark: dollars(5), fallen: true });
      assert.equal(await look(), 1, "the balance is as low as it was when it was told");
    } finally {
      await client.query("rollback");
      client.release();
    }
    await bought;
    assert.deepEqual(await first().of(id), { mark: dollars(5), fallen: false });
    assert.equal(await look(), 1);
    await move(id, dollars(-20));
    assert.equal(await look(), 2, "the next fall");
  });

  test("resets if the balance recovers while a gateway is sending it", async () => {
    const id = await account(dollars(10));
    await first().set(id, dollars(5));
    await move(id, dollars(-6));
    // The balance rises after the gateway has read a low balance and before it writes.
    const client = await t.db.pool.connect();
    await client.query("begin");
    await client.query("select from credit_alert where account_id = $1 for update", [id]);
    const looking = first().look();
    await waitForBlockedStatement(t.db.pool, "%update credit_alert%");
    await client.query("update credit_alert set fallen = false, rises = rises + 1 where account_id = $1", [id]);
    await client.query("commit");
    client.release();
    assert.equal(await looking, 0);
    assert.equal(await look(), 1, "the balance is still low, and is told by the next look");
  });
});

describe("an alert email", () => {
  const waiting = async (): Promise<number> => {
    const { rows } = await t.db.pool.query(
      "select count(*)::int as count from notification_delivery where state = 'pending'",
    );
    return rows[0].count;
  };
  const fall = async (): Promise<void> => {
    const id = await account(dollars(10));
    await first().set(id, dollars(5));
    await move(id, dollars(-6));
  };

  test("is retried with growing delays and the same ID while the mail server is unreachable", async () => {
    await fall();
    mailServer = "away";
    assert.equal(await look(), 0);
    assert.equal(await look(), 0);
    assert.equal(await waiting(), 1);
    mailServer = "there";
    assert.equal(await look(), 0, "not before its time");
    clock.advance(3 * MINUTE_MS);
    assert.equal(await look(), 1);
    assert.match(String(t.mailed[0]?.id), /^[0-9a-f-]{36}$/);
    assert.equal(await waiting(), 0);
  });

  test("is sent by another gateway if the first one dies", async () => {
    await fall();
    await first().look();
    // A gateway claimed this delivery and died before recording the result.
    await t.db.pool.query("update notification_delivery set attempts = 1, next_at = $1 where state = 'pending'", [
      new Date(clock.now() + 120_000),
    ]);
    assert.equal(await look(), 0);
    clock.advance(120_000);
    assert.equal(await look(), 1);
  });

  test("is discarded if the mail server is unreachable for three days, and the gateway logs this", async () => {
    await fall();
    mailServer = "away";
    await look();
    for (let hour = 0; hour < 73; hour++) {
      clock.advance(HOUR_MS);
      await t.deliverer.send();
    }
    mailServer = "there";
    clock.advance(2 * HOUR_MS);
    assert.equal(await look(), 0);
    assert.equal(await waiting(), 0);
    assert.ok(t.logged.some(({ msg, level }) => level === 50 && msg === "notification not delivered; giving up"));
  });
});
