/**
 * All operations lock accounts in one order, builders before hosts, so that no two of them can deadlock. The host's
 * account in these tests has the lower ID, so locks in the order of IDs alone would be taken the other way round.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import { createTestHold, createTestSettlement, newId, waitForBlockedStatement } from "./testing.ts";

const CREDIT = 100_000_000n;

describe("an operation that waits for a host's locked account", () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let host: Uuid;
  let builder: Uuid;
  before(async () => {
    db = await openTestDatabase();
    ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test" });
    await db.pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
    host = newId();
    builder = newId();
    for (const [kind, id] of Object.entries({ host, builder })) {
      await db.pool.query("insert into account (id, kind, name) values ($1, $2, $2)", [id, kind]);
      await db.pool.query("insert into ledger_account (id, kind) values ($1, $2) on conflict do nothing", [id, kind]);
    }
    await db.pool.query("select ledger_transfer($1, 'grant', $2, $3, 'test')", [newId(), builder, CREDIT]);
  });
  after(async () => {
    await ledger.close();
    await db.close();
  });

  /** Runs the operation while another session has the host's row, and `look` while the operation waits for it. */
  async function whileHostIsLocked<T>(run: () => Promise<T>, waiting: string, look: () => Promise<void>): Promise<T> {
    const session = new pg.Client(db.connection);
    await session.connect();
    try {
      await session.query("begin");
      await session.query("select from ledger_account where id = $1 for update", [host]);
      const running = run();
      running.catch(() => {});
      await waitForBlockedStatement(db.pool, waiting);
      await look();
      await session.query("rollback");
      return await running;
    } finally {
      await session.end();
    }
  }
  async function assertBuilderIsLocked(): Promise<void> {
    const query = "select id from ledger_account where id = $1 for no key update skip locked";
    assert.deepEqual((await db.pool.query(query, [builder])).rows, []);
  }
  async function held(count: number) {
    const orders = Array.from({ length: count }, () => createTestHold(builder));
    for (const outcome of await Promise.all(orders.map((order) => ledger.hold(order))))
      assert.deepEqual(outcome, { kind: "held" });
    return orders.map((order) => createTestSettlement(order, host));
  }

  test("has already locked the builder's account: one settlement", async () => {
    const [settlement] = await held(1);
    assert.ok(settlement);
    await whileHostIsLocked(() => ledger.settle(settlement), "%ledger_settle_one%", assertBuilderIsLocked);
  });

  test("has already locked the builder's account and written the records: a batch of settlements", async () => {
    const settlements = await held(2);
    await whileHostIsLocked(
      () => Promise.all(settlements.map((settlement) => ledger.settle(settlement))),
      "%ledger_settle(%",
      async () => {
        await assertBuilderIsLocked();
        const { rows } = await db.pool.query(
          `select count(*)::int as written from pg_locks l join pg_stat_activity a using (pid)
            where a.wait_event_type = 'Lock' and l.relation = 'unrolled'::regclass and l.mode = 'RowExclusiveLock'`,
        );
        assert.deepEqual(rows, [{ written: 1 }]);
      },
    );
  });

  test("has already locked the builder's account: a late settlement", async () => {
    const [settlement] = await held(1);
    assert.ok(settlement);
    await db.pool.query("update hold set expires_at = now() - interval '1 hour' where id = $1", [settlement.id]);
    await db.pool.query("update hold_sweep set at = now()");
    await db.pool.query("select ledger_expire(10)");
    const settleLate = () =>
      db.pool.query(
        `select * from ledger_settle_late($1, $2, $3, $4, $5, 'ok', 200::smallint, 'stop', 5, 0, 1::smallint, 1, 2, 3)`,
        [settlement.id, builder, host, settlement.nodeId, settlement.charge],
      );
    await whileHostIsLocked(settleLate, "%ledger_settle_late%", assertBuilderIsLocked);
  });

  test("has already locked the builder's account: a set-off of a debt against earnings", async () => {
    const setOff = () =>
      db.pool.query("select ledger_setoff($1, $2, $3, 1, 'test')", [newId(), host, builder]).then(() => {});
    await whileHostIsLocked(setOff, "%ledger_setoff%", assertBuilderIsLocked);
  });

  test("has already locked the builder's account: a payout batch that sets a debt off", async () => {
    const owner = newId();
    await db.pool.query("insert into identity (id, email, name) values ($1, 'ada@example.com', 'Ada')", [owner]);
    for (const id of [host, builder])
      await db.pool.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [owner, id]);
    await ledger.transfer({ id: newId(), kind: "refund", accountId: builder, amount: pico(2n * CREDIT), reason: "r" });
    const create = () => db.pool.query("select payout_create($1, '', 'test', 1, 0)", [newId()]).then(() => {});
    await whileHostIsLocked(create, "%payout_create%", assertBuilderIsLocked);
  });
});
