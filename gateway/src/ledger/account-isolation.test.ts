/**
 * A locked account or a refused operation never delays other accounts: their holds, settlements, voids and expiries
 * succeed. In these tests a batch waits at most 200 ms for a lock. A statement that runs separately waits at most 20
 * ms, and is then repeated.
 */

import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { publicId, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { openPool } from "../db/pool.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "./check.ts";
import type { HoldOrder } from "./hold.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import { LostRequestsReentry } from "./lost-commit-reentry.ts";
import { createTestHold, createTestSettlement, newId, TEST_CHARGE, waitForBlockedStatement } from "./testing.ts";

const CREDIT = 100_000_000_000n;

describe("the ledger while the database locks an account or refuses an operation", () => {
  let db: TestDatabase;
  let ledger: Ledger;
  const pools: pg.Pool[] = [];
  const logged: Record<string, unknown>[] = [];
  const log = createLog("error", { write: (line: string) => void logged.push(JSON.parse(line)) });
  before(async () => {
    db = await openTestDatabase();
    await db.pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
    const open = (lockMs: number): pg.Pool => {
      const session = `-c lock_timeout=${lockMs}`;
      const pool = openPool(db.connection, { log: createLog("silent"), sizeMax: 8, sessionOptions: session });
      pools.push(pool);
      return pool;
    };
    ledger = openLedger({ pool: open(200), apartPool: open(20), clock: timeoutFreeClock, gatewayId: "test", log });
  });
  after(async () => {
    await ledger.close();
    const differing = (await checkLedger(db.pool)).filter(({ differences }) => differences.length > 0);
    for (const pool of pools) await pool.end();
    await db.close();
    assert.deepEqual(differing, []);
  });

  const account = async (kind: "builder" | "host"): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
    if (kind === "builder")
      await db.pool.query("select ledger_transfer($1, 'grant', $2, $3, 'test')", [newId(), id, CREDIT]);
    return id;
  };
  /** Takes a lock in another session. The returned function releases it. */
  const lock = async (t: TestContext, sql: string, values: unknown[]): Promise<() => Promise<void>> => {
    const session = new pg.Client(db.connection);
    await session.connect();
    await session.query("begin");
    await session.query(sql, values);
    let isReleased = false;
    const release = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      await session.query("rollback");
      await session.end();
    };
    t.after(release);
    return release;
  };
  const lockAccount = (t: TestContext, id: Uuid) =>
    lock(t, "select from ledger_account where id = $1 for update", [id]);
  const held = async (...builders: Uuid[]): Promise<HoldOrder[]> => {
    const orders = builders.map((id) => createTestHold(id));
    for (const outcome of await Promise.all(orders.map((order) => ledger.hold(order))))
      assert.deepEqual(outcome, { kind: "held" });
    return orders;
  };
  /** Ends the leases, as if the holds' gateway had died. */
  const expired = async (orders: HoldOrder[]): Promise<void> => {
    const ids = orders.map(({ id }) => id);
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = any ($1)", [ids]);
    await db.pool.query("update hold_sweep set at = now()");
  };
  const heldOf = async (id: Uuid): Promise<bigint | undefined> => (await ledger.balance(id))?.held;
  const chargedOf = async (id: Uuid): Promise<bigint> => CREDIT - ((await ledger.balance(id))?.balance ?? 0n);
  /** Tracks which of the promises have settled. */
  const watched = (promises: Promise<unknown>[]) => {
    const ended = promises.map(() => false);
    promises.forEach((promise, i) => {
      const end = (): void => {
        ended[i] = true;
      };
      promise.then(end, end);
    });
    return ended;
  };

  test("delays the holds of the locked account, but no other holds in the same or later batches", async (t) => {
    const [locked, free] = [await account("builder"), await account("builder")];
    const release = await lockAccount(t, locked);
    const orders = [createTestHold(locked), createTestHold(free), createTestHold(locked), createTestHold(free)];
    const outcomes = orders.map((order) => ledger.hold(order));
    const ended = watched(outcomes);
    for (const i of [1, 3]) assert.deepEqual(await outcomes[i], { kind: "held" });
    const before = ledger.batches.hold.sizes.sum;
    const more = [createTestHold(locked), createTestHold(free)].map((order) => ledger.hold(order));
    assert.deepEqual(await more[1], { kind: "held" });
    assert.equal(ledger.batches.hold.sizes.sum, before + 1, "the locked account is not in the batch");
    assert.deepEqual(ended, [false, true, false, true]);
    assert.ok(ledger.batches.hold.lockWaits > 0, "metrics count the tries that met the lock");
    await release();
    assert.deepEqual(await Promise.all([...outcomes, ...more]), Array(6).fill({ kind: "held" }));
    for (const id of [locked, free]) assert.equal((await ledger.balance(id))?.held, 3_000_000n);
  });

  test("delays only settlements of the locked builder or host, and charges each settlement once", async (t) => {
    const [locked, free, served] = [await account("builder"), await account("builder"), await account("builder")];
    const [host, lockedHost] = [await account("host"), await account("host")];
    const [a, b, c, d] = (await held(locked, free, served, free)) as [HoldOrder, HoldOrder, HoldOrder, HoldOrder];
    const releases = [await lockAccount(t, locked), await lockAccount(t, lockedHost)];
    const waiting = [ledger.settle(createTestSettlement(a, host)), ledger.settle(createTestSettlement(c, lockedHost))];
    const ended = watched(waiting);
    assert.equal(await ledger.settle(createTestSettlement(b, host)), "settled");
    assert.equal(await ledger.settle(createTestSettlement(d, host)), "settled");
    const [later] = (await held(served)) as [HoldOrder];
    assert.equal(
      await ledger.settle(createTestSettlement(later, host)),
      "settled",
      "the builder of the locked host is free",
    );
    assert.deepEqual(ended, [false, false]);
    for (const release of releases) await release();
    assert.deepEqual(await Promise.all(waiting), ["settled", "settled"]);
    assert.deepEqual(await Promise.all([locked, free, served].map(chargedOf)), [
      TEST_CHARGE,
      2n * TEST_CHARGE,
      2n * TEST_CHARGE,
    ]);
  });

  test("delays only voids and late settlements of the locked account", async (t) => {
    const [locked, free, host] = [await account("builder"), await account("builder"), await account("host")];
    const [a, b, lateA, lateB] = (await held(locked, free, locked, free)) as [
      HoldOrder,
      HoldOrder,
      HoldOrder,
      HoldOrder,
    ];
    await expired([lateA, lateB]);
    assert.equal(await ledger.expire(), 2);
    const release = await lockAccount(t, locked);
    const waiting = [ledger.void(a.id), ledger.settle(createTestSettlement(lateA, host))];
    const ended = watched(waiting);
    await ledger.void(b.id);
    assert.equal(await ledger.settle(createTestSettlement(lateB, host)), "late");
    assert.deepEqual(ended, [false, false]);
    await release();
    await Promise.all(waiting);
    assert.deepEqual(await Promise.all([chargedOf(locked), chargedOf(free)]), [TEST_CHARGE, TEST_CHARGE]);
    for (const id of [locked, free]) assert.equal((await ledger.balance(id))?.held, 0n);
  });

  test("delays the release of expired holds of the locked account only; a later sweep releases them", async (t) => {
    const [locked, free] = [await account("builder"), await account("builder")];
    await expired(await held(locked, free));
    const release = await lockAccount(t, locked);
    assert.equal(await ledger.expire(), 1);
    assert.deepEqual(await Promise.all([locked, free].map(heldOf)), [1_000_000n, 0n]);
    await release();
    assert.equal(await ledger.expire(), 1);
    assert.equal(await heldOf(locked), 0n);
    assert.deepEqual(logged, []);
  });

  test("makes a sweep wait for a locked account whose holds expired more than a quarter of the lease period ago", async (t) => {
    const busy = await account("builder");
    const [hold] = await held(busy);
    await db.pool.query("update hold set expires_at = now() - interval '1 hour' where id = $1", [hold?.id]);
    const release = await lockAccount(t, busy);
    let isSeen = false;
    const sweeps = (async () => {
      while (!isSeen) assert.equal(await ledger.expire(), 0);
    })();
    await waitForBlockedStatement(db.pool, "%ledger_sweep%").finally(() => {
      isSeen = true;
    });
    await sweeps;
    await release();
    assert.equal(await ledger.expire(), 1);
  });

  test("releases all other expired holds if those of one account cannot be released, and logs the error", async () => {
    const [bad, good, other] = [await account("builder"), await account("builder"), await account("builder")];
    await expired(await held(good, bad, other));
    await db.pool.query("update ledger_account set held = 0 where id = $1", [bad]);
    assert.equal(await ledger.expire(), 2);
    assert.deepEqual(await Promise.all([good, other].map(heldOf)), [0n, 0n]);
    const [{ account: named, code, msg } = {}] = logged.splice(0);
    assert.deepEqual(
      { named, code, msg },
      {
        named: publicId("acc", bad),
        code: "23514",
        msg: "could not release an account's expired holds; retrying",
      },
    );
    await db.pool.query("update ledger_account set held = 1000000 where id = $1", [bad]);
    assert.equal(await ledger.expire(), 1, "the next sweep tries again");
    assert.deepEqual(logged, []);
  });

  test("delays only one account when the budget row of that account's key is locked", async (t) => {
    const [locked, free] = [await account("builder"), await account("builder")];
    const order = createTestHold(locked);
    // Allows a budget row without a key, which this test does not need.
    await db.pool.query("alter table key_budget drop constraint key_budget_key_id_fkey");
    await db.pool.query(
      `insert into key_budget (key_id, account_id, day_max, day, month)
       values ($1, $2, 1000000000, current_date, date_trunc('month', now())::date)`,
      [order.keyId, locked],
    );
    const release = await lock(t, "select from key_budget where key_id = $1 for update", [order.keyId]);
    const waiting = ledger.hold(order);
    const ended = watched([waiting]);
    assert.deepEqual(await ledger.hold(createTestHold(free)), { kind: "held" });
    assert.deepEqual(await ledger.hold(createTestHold(free)), { kind: "held" });
    assert.deepEqual(ended, [false]);
    await release();
    assert.deepEqual(await waiting, { kind: "held" });
    await db.pool.query("delete from key_budget");
  });

  test("delays only requests of the locked account when requests are entered in the ledger again after a failover", async (t) => {
    const [locked, free, host] = [await account("builder"), await account("builder"), await account("host")];
    const [a, b, c] = [createTestHold(locked), createTestHold(free), createTestHold(free)];
    const wrong = { ...createTestHold(free), promptTokens: 2 ** 31 };
    const entries = [a, wrong, b, c].map((hold) => ({
      kind: "request" as const,
      hold,
      settlement: createTestSettlement(hold, host),
    }));
    const journal = {
      add() {},
      async *read() {
        yield { entries, unread: 0 };
      },
    };
    const release = await lockAccount(t, locked);
    const reentry = new LostRequestsReentry({ pool: db.pool, ledger, journal, lostSince: 0 });
    const run = reentry.run();
    await eventually("the other requests are charged", async () => (await chargedOf(free)) === 2n * TEST_CHARGE);
    assert.equal(await chargedOf(locked), 0n);
    await release();
    await run;
    assert.equal(await chargedOf(locked), TEST_CHARGE);
    assert.deepEqual([reentry.entered, reentry.isComplete], [3, false]);
    assert.deepEqual(
      reentry.notEntered.map(({ id }) => id),
      [publicId("req", wrong.id)],
    );
    assert.match(reentry.notEntered[0]?.reason ?? "", /out of range.*; it is tried again$/);
    wrong.promptTokens = a.promptTokens;
    await reentry.run();
    assert.deepEqual([reentry.entered, reentry.isComplete, reentry.notEntered], [4, true, []]);
  });

  test("rejects an invalid hold, but no other hold of its batch and no later hold of its account", async () => {
    const [bad, good] = [await account("builder"), await account("builder")];
    const wrong = { ...createTestHold(bad), amount: pico(-1n) };
    const outcomes = [wrong, createTestHold(good), createTestHold(good)].map((order) => ledger.hold(order));
    await assert.rejects(outcomes[0] as Promise<unknown>, { code: "P0001" });
    assert.deepEqual(await Promise.all(outcomes.slice(1)), Array(2).fill({ kind: "held" }));
    await held(bad, good);
  });
});
