/**
 * A key's budgets. They are checked in the transaction of the hold, and stay exact with concurrent operations of the
 * account.
 */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { dollars, type Pico, pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { waitPastMidnight } from "../history/testing-past-months.ts";
import { type ApiKeys, createApiKeyService } from "../keys/api-keys.ts";
import { checkLedger } from "./check.ts";
import type { HoldOrder } from "./hold.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import { createTestHold, createTestSettlement, newId, TEST_CHARGE, waitForBlockedStatement } from "./testing.ts";

const DAY_MS = 86_400_000;
/** The amount of a hold in these tests. */
const HOLD = 1_000_000n;

describe("a key's budget", () => {
  let db: TestDatabase;
  /** Two gateways on one database. */
  let ledgers: [Ledger, Ledger];
  let ledger: Ledger;
  let keys: ApiKeys;
  before(async () => {
    db = await openTestDatabase();
    const open = (gatewayId: string) =>
      openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId, holdLeaseMs: 60 * 60 * 1000 });
    ledgers = [open("one"), open("two")];
    ledger = ledgers[0];
    await ledger.expire();
    keys = createApiKeyService({
      pool: db.pool,
      pepper: "a pepper of tests, 32 characters or more",
      clock: systemClock,
      random: systemRandom(),
      newId,
      log: createLog("silent"),
      broadcast: { send: async () => {}, on: () => {}, close: async () => {} },
    });
  });
  after(async () => {
    await keys.close();
    await db.close();
  });

  beforeEach(waitPastMidnight);

  const openKey = async (settings: { budgetDay?: Pico; budgetMonth?: Pico }) => {
    const accountId = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, 'builder', 'b')", [accountId]);
    await db.pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [accountId]);
    await ledger.transfer({ id: newId(), kind: "grant", accountId, amount: dollars(1), reason: "test" });
    const { id } = await keys.create(accountId, { name: "k", by: null, settings });
    return { accountId, keyId: id };
  };
  type Key = Awaited<ReturnType<typeof openKey>>;
  const holdBy = ({ accountId, keyId }: Key, at?: number): HoldOrder => {
    const hold = { ...createTestHold(accountId, HOLD), keyId };
    return at === undefined ? hold : { ...hold, id: idAt(at) };
  };
  const standing = async ({ keyId }: Key) => {
    const { rows } = await db.pool.query(
      "select day_spent, day_held, month_spent, month_held from key_budget where key_id = $1",
      [keyId],
    );
    return rows[0];
  };

  test("admits as many of 200 concurrent requests as the budget covers, on two gateways together", async () => {
    const key = await openKey({ budgetDay: pico(37n * HOLD) });
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, i) => (ledgers[i % 2] as Ledger).hold(holdBy(key))),
    );
    const held = outcomes.filter(({ kind }) => kind === "held");
    assert.equal(held.length, 37);
    for (const outcome of outcomes.filter(({ kind }) => kind !== "held")) {
      assert.deepEqual(outcome, { kind: "exceeds_budget", of: "day", available: 0n });
    }
    assert.deepEqual(await standing(key), {
      day_spent: 0n,
      day_held: 37n * HOLD,
      month_spent: 0n,
      month_held: 37n * HOLD,
    });
  });

  for (const period of ["day", "month"] as const) {
    test(`per ${period} accepts a hold of exactly the amount left, and refuses one picodollar more`, async () => {
      const key = await openKey({ [period === "day" ? "budgetDay" : "budgetMonth"]: pico(2n * HOLD) });
      const more = { ...holdBy(key), amount: pico(HOLD + 1n) };
      assert.deepEqual(await ledger.hold(holdBy(key)), { kind: "held" });
      assert.deepEqual(await ledger.hold(more), { kind: "exceeds_budget", of: period, available: HOLD });
      assert.deepEqual(await ledger.hold(holdBy(key)), { kind: "held" });
    });
  }

  test("frees the unused part of a hold, and all of a voided hold", async () => {
    const key = await openKey({ budgetMonth: pico(HOLD + TEST_CHARGE) });
    const first = holdBy(key);
    assert.deepEqual(await ledger.hold(first), { kind: "held" });
    assert.deepEqual(await ledger.hold(holdBy(key)), { kind: "exceeds_budget", of: "month", available: TEST_CHARGE });
    await ledger.settle(createTestSettlement(first, null));
    const second = holdBy(key);
    assert.deepEqual(await ledger.hold(second), { kind: "held" });
    await ledger.void(second.id);
    await ledger.idle();
    const third = holdBy(key);
    assert.deepEqual(await ledger.hold(third), { kind: "held" });
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [third.id]);
    assert.equal(await ledger.expire(), 1);
    assert.deepEqual(await standing(key), {
      day_spent: TEST_CHARGE,
      day_held: 0n,
      month_spent: TEST_CHARGE,
      month_held: 0n,
    });

    // The request was answered, so a late settlement charges its cost as far as the budget allows.
    await ledger.settle(createTestSettlement(third, null));
    assert.deepEqual(await standing(key), {
      day_spent: 2n * TEST_CHARGE,
      day_held: 0n,
      month_spent: 2n * TEST_CHARGE,
      month_held: 0n,
    });
  });

  test("limits a late settlement to the amount left in the budget", async () => {
    const key = await openKey({ budgetDay: pico(HOLD) });
    const lost = holdBy(key);
    await ledger.hold(lost);
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [lost.id]);
    await ledger.expire();
    await ledger.hold(holdBy(key));
    assert.equal(await ledger.settle(createTestSettlement(lost, null)), "late");
    const { rows } = await db.pool.query("select charge_pico, short_pico from request where id = $1", [lost.id]);
    assert.deepEqual(rows, [{ charge_pico: 0n, short_pico: TEST_CHARGE }]);
  });

  test("includes amounts that were spent or held before it was set", async () => {
    const key = await openKey({});
    const [spent, inFlight] = [holdBy(key), holdBy(key)];
    await ledger.hold(spent);
    await ledger.hold(inFlight);
    await ledger.settle(createTestSettlement(spent, null));
    assert.equal(await keys.change(key.accountId, key.keyId, { budgetDay: pico(HOLD + TEST_CHARGE) }), true);
    assert.deepEqual(await standing(key), {
      day_spent: TEST_CHARGE,
      day_held: HOLD,
      month_spent: TEST_CHARGE,
      month_held: HOLD,
    });
    assert.deepEqual(await ledger.hold(holdBy(key)), { kind: "exceeds_budget", of: "day", available: 0n });
    await ledger.settle(createTestSettlement(inFlight, null));
    assert.deepEqual(await standing(key), {
      day_spent: 2n * TEST_CHARGE,
      day_held: 0n,
      month_spent: 2n * TEST_CHARGE,
      month_held: 0n,
    });

    assert.equal(await keys.change(key.accountId, key.keyId, { budgetDay: null }), true);
    assert.equal(await standing(key), undefined);
    assert.deepEqual(await ledger.hold(holdBy(key)), { kind: "held" });
  });

  test("resets at the start of the day, and does not count holds of the day before", async () => {
    const key = await openKey({ budgetDay: pico(HOLD) });
    const today = holdBy(key);
    assert.deepEqual(await ledger.hold(today), { kind: "held" });
    const tomorrow = holdBy(key, systemClock.now() + DAY_MS);
    assert.deepEqual(await ledger.hold(tomorrow), { kind: "held" });
    assert.deepEqual(await ledger.hold(holdBy(key, systemClock.now() + DAY_MS)), {
      kind: "exceeds_budget",
      of: "day",
      available: 0n,
    });
    await ledger.settle(createTestSettlement(today, null));
    const { day_spent, day_held } = await standing(key);
    assert.deepEqual([day_spent, day_held], [0n, HOLD]);
    await ledger.settle(createTestSettlement(tomorrow, null));
    const after = await standing(key);
    assert.deepEqual([after.day_spent, after.day_held], [TEST_CHARGE, 0n]);
  });

  test("counts a request of the day before against that day, even when requests are concurrent", async () => {
    const yesterday = systemClock.now() - DAY_MS;
    const key = await openKey({ budgetDay: pico(2n * HOLD) });
    // Starts today's counters with a request of today.
    assert.deepEqual(await ledger.hold(holdBy(key)), { kind: "held" });
    const late = Array.from({ length: 5 }, () => holdBy(key, yesterday));
    const outcomes = await Promise.all(late.map((hold) => ledger.hold(hold)));
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ["held", "held", "exceeds_budget", "exceeds_budget", "exceeds_budget"],
    );
    const next = holdBy(key, yesterday);
    assert.deepEqual(await ledger.hold(next), { kind: "exceeds_budget", of: "day", available: 0n });
    await ledger.settle(createTestSettlement(late[0] as HoldOrder, null));
    assert.deepEqual(await ledger.hold(next), { kind: "exceeds_budget", of: "day", available: HOLD - TEST_CHARGE });
    const { day_spent, day_held } = await standing(key);
    assert.deepEqual([day_spent, day_held], [0n, HOLD], "today's room is as it was");
  });

  test("limits a late settlement of yesterday's request to the amount left that day", async () => {
    const key = await openKey({ budgetDay: pico(HOLD) });
    const yesterday = systemClock.now() - DAY_MS;
    await ledger.hold(holdBy(key));
    const [lost, other] = [holdBy(key, yesterday), holdBy(key, yesterday)];
    await ledger.hold(lost);
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [lost.id]);
    await ledger.expire();
    assert.deepEqual(await ledger.hold(other), { kind: "held" });
    assert.equal(await ledger.settle(createTestSettlement(lost, null)), "late");
    const { rows } = await db.pool.query("select charge_pico, short_pico from request where id = $1", [lost.id]);
    assert.deepEqual(rows, [{ charge_pico: 0n, short_pico: TEST_CHARGE }]);
  });

  for (const [what, others] of [
    ["a hold", 0],
    ["a batch of holds", 1],
  ] as const) {
    test(`refuses ${what} that waited for the account lock while a budget of zero was set`, async () => {
      const key = await openKey({});
      const setting = await db.pool.connect();
      try {
        await setting.query("begin");
        await setting.query("select key_budget_set($1, $2, 0, null)", [key.accountId, key.keyId]);
        const holds = [holdBy(key), ...Array.from({ length: others }, () => createTestHold(key.accountId, HOLD))];
        const asked = Promise.all(holds.map((hold) => ledger.hold(hold)));
        await waitForBlockedStatement(db.pool, "%ledger_hold%");
        await setting.query("commit");
        const [outcome, ...rest] = await asked;
        assert.deepEqual(outcome, { kind: "exceeds_budget", of: "day", available: 0n });
        for (const other of rest) assert.deepEqual(other, { kind: "held" });
      } finally {
        await setting.query("rollback");
        setting.release();
      }
    });
  }

  test("includes the current day's spending when a gateway whose clock is slow sets it", async () => {
    const key = await openKey({});
    const ahead = holdBy(key, systemClock.now() + DAY_MS);
    await ledger.hold(ahead);
    await ledger.settle(createTestSettlement(ahead, null));
    await keys.change(key.accountId, key.keyId, { budgetDay: pico(HOLD) });
    assert.deepEqual(await ledger.hold(holdBy(key, systemClock.now() + DAY_MS)), {
      kind: "exceeds_budget",
      of: "day",
      available: HOLD - TEST_CHARGE,
    });
  });

  test("is verified by the ledger check, which reports a wrong counter and a missing budget", async () => {
    const proof = async () => (await checkLedger(db.pool)).filter(({ name }) => name.includes("budget"));
    const key = await openKey({ budgetDay: pico(2n * HOLD), budgetMonth: pico(3n * HOLD) });
    const [first, second] = [holdBy(key), holdBy(key)];
    await ledger.hold(first);
    await ledger.settle(createTestSettlement(first, null));
    await ledger.hold(second);
    const [sound] = await proof();
    assert.ok(sound !== undefined && sound.checked > 0n);
    assert.deepEqual(sound.differences, []);
    for (const wrong of [
      "day_spent = day_spent + 1",
      "day_held = 0",
      "month_spent = 0",
      "month_held = 5",
      "day_max = null",
    ]) {
      const { rows } = await db.pool.query("select * from key_budget where key_id = $1", [key.keyId]);
      await db.pool.query(`update key_budget set ${wrong} where key_id = $1`, [key.keyId]);
      assert.equal((await proof())[0]?.differences.length, 1, wrong);
      const { day_spent, day_held, month_spent, month_held, day_max } = rows[0];
      await db.pool.query(
        "update key_budget set day_spent = $2, day_held = $3, month_spent = $4, month_held = $5, day_max = $6 where key_id = $1",
        [key.keyId, day_spent, day_held, month_spent, month_held, day_max],
      );
    }
    await db.pool.query("delete from key_budget where key_id = $1", [key.keyId]);
    assert.equal((await proof())[0]?.differences.length, 1, "deleted");
    await keys.change(key.accountId, key.keyId, { budgetDay: null, budgetMonth: null });
    assert.deepEqual((await proof())[0]?.differences, []);
  });

  test("is applied after the balance check, and does not affect other keys", async () => {
    const key = await openKey({ budgetDay: pico(0n) });
    const poor = { ...holdBy(key), amount: pico(dollars(1) + 1n) };
    assert.deepEqual(await ledger.hold(poor), { kind: "exceeds_balance", available: dollars(1) });
    const outcomes = await Promise.all([ledger.hold(holdBy(key)), ledger.hold(createTestHold(key.accountId, HOLD))]);
    assert.deepEqual(outcomes, [{ kind: "exceeds_budget", of: "day", available: 0n }, { kind: "held" }]);
  });
});

/** Generates an ID with this creation time, in Unix milliseconds. */
function idAt(ms: number): Uuid {
  const id = newId();
  const time = ms.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}${id.slice(13)}` as Uuid;
}
