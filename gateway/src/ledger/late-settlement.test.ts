/** Leases, which pause while no gateway can renew them, and late settlements of requests whose lease has expired. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type pg from "pg";
import { creationTimeMsOf, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type Pico, pico } from "../base/money.ts";
import { computeHostShare, timeoutFreeClock } from "../base/testing.ts";
import { migrate } from "../db/migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "../db/testing/sql-directory.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "./check.ts";
import type { HoldOrder } from "./hold.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import type { Settlement } from "./settlement-sql.ts";
import { createTestHold, createTestSettlement, newId, TEST_CHARGE } from "./testing.ts";

const LEASE_S = 60;

describe("late settlement of a request whose lease expired", () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let host: Uuid;
  before(async () => {
    db = await openTestDatabase();
    // A quarter of this lease is longer than any test run. After a longer time without a sweep, the next sweep would
    // expire no hold and only extend the leases.
    const common = { clock: timeoutFreeClock, gatewayId: "test", holdLeaseMs: 60 * 60 * 1000 };
    ledger = openLedger({ ...common, pool: db.pool, giveUpAfterMs: 0 });
    await ledger.expire();
    await db.pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
    host = await open("host");
  });
  after(() => db.close());

  const open = async (kind: "builder" | "host", credit = 0n): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
    if (credit > 0n)
      await ledger.transfer({ id: newId(), kind: "grant", accountId: id, amount: pico(credit), reason: "test" });
    return id;
  };
  /** Places a hold and lets its lease expire, as if its gateway had died. */
  const lost = async (accountId: Uuid, amount?: bigint): Promise<HoldOrder> => {
    const hold = createTestHold(accountId, amount);
    assert.deepEqual(await ledger.hold(hold), { kind: "held" });
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [hold.id]);
    assert.equal(await ledger.expire(), 1);
    return hold;
  };
  const balance = async (id: Uuid): Promise<Pico> => (await ledger.balance(id))?.balance as Pico;
  const recordOf = async (id: Uuid) => {
    const { rows } = await db.pool.query("select * from request where id = $1", [id]);
    return rows[0];
  };
  const assertLedger = async (): Promise<void> => {
    const differing = (await checkLedger(db.pool)).filter(({ differences }) => differences.length > 0);
    assert.deepEqual(differing, []);
  };

  test("charges and pays in full once, and writes the same record and rollups as a timely settlement", async () => {
    const builder = await open("builder", 5_000_000n);
    const hold = await lost(builder);
    const before = await balance(host);
    const settlement = createTestSettlement(hold, host);
    assert.equal(await ledger.settle(settlement), "late");
    assert.equal(await ledger.settle(settlement), "repeated");
    assert.deepEqual(await ledger.balance(builder), { balance: 5_000_000n - TEST_CHARGE, held: 0n });
    assert.equal((await balance(host)) - before, computeHostShare(TEST_CHARGE));
    const { created_at, finished_at, ...record } = await recordOf(hold.id);
    assert.equal(finished_at.getTime() - created_at.getTime(), settlement.durationMs);
    const { outcome, http_status, completion_tokens, charge_pico, short_pico, node_id, host_account_id } = record;
    assert.deepEqual(
      [outcome, http_status, completion_tokens, charge_pico, short_pico, node_id, host_account_id],
      ["ok", 200, 5, TEST_CHARGE, 0n, settlement.nodeId, host],
    );
    const used = await db.pool.query("select outcome, requests, charge_pico from usage_hour where account_id = $1", [
      builder,
    ]);
    assert.deepEqual(used.rows, [{ outcome: "ok", requests: 1n, charge_pico: TEST_CHARGE }]);
    await assertLedger();
  });

  test("records the outcome of a request that was free of charge, and charges nothing", async () => {
    const builder = await open("builder", 5_000_000n);
    const hold = await lost(builder);
    const free = {
      ...createTestSettlement(hold, null),
      charge: pico(0n),
      outcome: "upstream_stall",
      httpStatus: 502,
      finishReason: null,
      completionTokens: 0,
    } as const;
    assert.equal(await ledger.settle(free), "late");
    assert.deepEqual([(await recordOf(hold.id)).outcome, await balance(builder)], ["upstream_stall", 5_000_000n]);
    await assertLedger();
  });

  test("never overdraws the account, and records the amount that could not be charged", async () => {
    const builder = await open("builder", 1_000_000n);
    const hold = await lost(builder);
    // Another request holds all of the balance but 60,007 picodollars.
    const other = createTestHold(builder, 939_993n);
    assert.deepEqual(await ledger.hold(other), { kind: "held" });
    const before = await balance(host);
    assert.equal(await ledger.settle(createTestSettlement(hold, host)), "late");
    assert.deepEqual(await ledger.balance(builder), { balance: 939_993n, held: 939_993n });
    const { charge_pico, short_pico } = await recordOf(hold.id);
    assert.deepEqual([charge_pico, short_pico], [60_007n, TEST_CHARGE - 60_007n]);
    assert.equal((await balance(host)) - before, computeHostShare(60_007n));
    assert.equal(ledger.tallies.short, TEST_CHARGE - 60_007n);
    assert.equal(await ledger.settle(createTestSettlement(hold, host)), "repeated");
    await assertLedger();

    await ledger.settle(createTestSettlement(other, host));
    const third = await lost(builder, 500_000n);
    const owed = (await balance(builder)) + 1n;
    await ledger.transfer({ id: newId(), kind: "refund", accountId: builder, amount: pico(owed), reason: "r" });
    assert.equal(await ledger.settle(createTestSettlement(third, host)), "late");
    assert.deepEqual([(await recordOf(third.id)).charge_pico, await balance(builder)], [0n, -1n]);
    await assertLedger();
  });

  test("refuses a charge above the hold, and an unknown account", async () => {
    const builder = await open("builder", 5_000_000n);
    const hold = await lost(builder, TEST_CHARGE - 1n);
    await assert.rejects(ledger.settle(createTestSettlement(hold, host)), /exceeds its hold/);
    await assert.rejects(ledger.settle(createTestSettlement(hold, newId())), /does not exist/);
    assert.deepEqual([(await recordOf(hold.id)).outcome, await balance(builder)], ["gateway_lost", 5_000_000n]);
    await assertLedger();
  });

  test("charges each of 20 requests of one account once, from two concurrent gateways", async () => {
    const builder = await open("builder", 50_000_000n);
    const holds: HoldOrder[] = [];
    for (let i = 0; i < 20; i++) holds.push(await lost(builder));
    const other = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "other" });
    const outcomes = await Promise.all(
      holds.flatMap((hold) => {
        const settlement = createTestSettlement(hold, host);
        return [ledger.settle(settlement), other.settle(settlement)];
      }),
    );
    assert.equal(outcomes.filter((outcome) => outcome === "late").length, 20);
    assert.equal(outcomes.filter((outcome) => outcome === "repeated").length, 20);
    assert.equal(await balance(builder), 50_000_000n - 20n * TEST_CHARGE);
    await assertLedger();
  });

  test("charges the builder for an answer that broke off, and pays no host", async () => {
    const builder = await open("builder", 5_000_000n);
    const hold = createTestHold(builder);
    await ledger.hold(hold);
    const broken = { ...createTestSettlement(hold, null), outcome: "upstream_failed", finishReason: null } as const;
    assert.equal(await ledger.settle(broken), "settled");
    await assertLedger();
  });
});

describe("leases of holds", () => {
  let db: TestDatabase;
  let builder: Uuid;
  /** A connection with an open transaction, in which the database's now() does not advance. */
  let still: pg.PoolClient;
  before(async () => {
    db = await openTestDatabase();
    still = await db.pool.connect();
    builder = newId();
    await db.pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [builder]);
    await db.pool.query("select ledger_transfer($1, 'grant', $2, 1000000000, 'test')", [newId(), builder]);
  });
  afterEach(() => still.query("commit"));
  after(async () => {
    still.release();
    await db.close();
  });

  /**
   * Places holds as if the last sweep (which ends expired holds) was `seconds` ago. Each lease ends at its own number
   * of seconds after that sweep (`ends`). From then on the database's clock stands still.
   */
  const away = async (seconds: number, ends: number[]): Promise<Uuid[]> => {
    const ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test" });
    await still.query("commit");
    await db.pool.query("select ledger_void(array(select id from hold))");
    const holds = ends.map(() => createTestHold(builder, 10n));
    await Promise.all(holds.map((hold) => ledger.hold(hold)));
    const ids = holds.map(({ id }) => id);
    await still.query("begin");
    await still.query("update hold_sweep set at = now() - make_interval(secs => $1)", [seconds]);
    await still.query(
      `update hold h set expires_at = s.at + make_interval(secs => o.ends)
         from hold_sweep s, unnest($1::uuid[], $2::float8[]) as o (id, ends) where h.id = o.id`,
      [ids, ends],
    );
    return ids;
  };
  const sweep = async (lease?: string): Promise<number> => {
    const call = lease === undefined ? "ledger_expire(1000)" : `ledger_expire(1000, '${lease}')`;
    const { rows } = await still.query(`select ${call} as expired`);
    return rows[0].expired;
  };
  /** The remaining seconds of each lease after the last sweep. */
  const left = async (ids: Uuid[]): Promise<number[]> => {
    const { rows } = await still.query(
      `select extract(epoch from h.expires_at - s.at)::float8 as left_s
         from unnest($1::uuid[]) with ordinality as o (id, ord) join hold h on h.id = o.id, hold_sweep s order by o.ord`,
      [ids],
    );
    return rows.map((row) => row.left_s);
  };

  test("do not expire while the database is unreachable, so that a running gateway can still renew them", async () => {
    const ids = await away(100, [45, 59, 20]);
    assert.equal(await sweep(), 0);
    // The outage uses up only a quarter of the lease time. A running gateway renews leases after this time, so only a
    // longer pause counts as an outage.
    for (const [i, leftS] of (await left(ids)).entries()) {
      const expected = ([45, 59, 20][i] as number) - LEASE_S / 4;
      assert.ok(Math.abs(leftS - expected) < 1, `hold ${i}: ${leftS} s left, not ${expected}`);
    }
    assert.equal(await sweep(), 0);
    assert.equal((await left(ids)).length, 3);
  });

  test("expire if not renewed, when another gateway runs a sweep (which ends expired holds)", async () => {
    await away(14, [1, 60]);
    assert.equal(await sweep(), 1);
  });

  test("from before an outage expire one lease period after the first sweep; leases of newer holds are not extended", async () => {
    const [old, fresh] = (await away(8 * 3600, [45, 8 * 3600 + LEASE_S])) as [Uuid, Uuid];
    assert.equal(await sweep(), 0);
    const [oldLeft, freshLeft] = (await left([old, fresh])) as [number, number];
    assert.ok(oldLeft > 0 && oldLeft <= LEASE_S, `${oldLeft} s`);
    assert.ok(freshLeft <= LEASE_S + 1, `${freshLeft} s: one that was taken since needs no more`);
    await still.query("update hold set expires_at = expires_at - make_interval(secs => $1)", [LEASE_S - 1]);
    await still.query("update hold set expires_at = expires_at - interval '1 second' where id = $1", [old]);
    assert.equal(await sweep(), 1);
  });

  test("expire even if sweeps are rare or use another lease period", async () => {
    const ids = await away(0, [45]);
    let sweeps = 0;
    for (let ended = 0; ended === 0; sweeps++) {
      assert.ok(sweeps < 10, `${await left(ids)} s left after ${sweeps} sweeps`);
      await still.query("update hold_sweep set at = at - interval '50 seconds'");
      await still.query("update hold set expires_at = expires_at - interval '50 seconds'");
      // The second sweep must not count holds that the first one ended.
      ended = (await sweep("1 minute")) + (await sweep("1 minute"));
    }
    await away(6, [5]);
    assert.equal(await sweep("6 seconds"), 0, "of a short lease");
    assert.equal(await sweep("6 seconds"), 0);
  });

  for (const [what, meanwhile, expired] of [
    ["renewed", "select ledger_renew(array[$1]::uuid[], '1 minute')", 0],
    ["released", "select ledger_void(array[$1]::uuid[])", 0],
    ["left alone", "select $1::uuid, 1 from ledger_account where id = $2 for no key update", 1],
  ] as const) {
    test(`are skipped by a sweep while another transaction uses the hold; if it was ${what}, the next sweep ${expired === 0 ? "skips" : "ends"} it`, async () => {
      const [hold] = (await away(1, [0])) as [Uuid];
      await still.query("commit");
      const client = await db.pool.connect();
      try {
        await client.query("begin");
        await client.query(meanwhile, meanwhile.includes("$2") ? [hold, builder] : [hold]);
        // A lease that is longer than the sweep takes on any machine.
        const swept = await still.query("select expired, failures from ledger_sweep(1000, '1 hour')");
        assert.deepEqual(swept.rows, [{ expired: 0, failures: [] }]);
        await client.query("commit");
        assert.equal(await sweep("1 hour"), expired);
        const { rows } = await db.pool.query("select outcome from request where id = $1", [hold]);
        assert.equal(rows.length, expired, "a record of a lost gateway");
      } finally {
        await client.query("rollback");
        client.release();
      }
    });
  }

  test("are skipped by a sweep if their hold is being settled at that moment", async () => {
    const [ending, lasting] = (await away(100, [45, 45])) as [Uuid, Uuid];
    // Commits, so that other sessions see the changes.
    await still.query("commit");
    const client = await db.pool.connect();
    try {
      await client.query("begin");
      await client.query("delete from hold where id = $1", [ending]);
      assert.equal(await sweep(), 0);
      await client.query("rollback");
    } finally {
      client.release();
    }
    const [endingLeft, lastingLeft] = (await left([ending, lasting])) as [number, number];
    assert.ok(endingLeft < 0 && lastingLeft > 0);
  });
});

test("after a migration from schema 0018, holds and records remain, older gateways work, and late settlements succeed", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0018") });
  t.after(close);
  await pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
  const [builder, host] = [newId(), newId()];
  await pool.query("insert into ledger_account (id, kind) values ($1, 'builder'), ($2, 'host')", [builder, host]);
  await pool.query("select ledger_transfer($1, 'grant', $2, 5000000, 'test')", [newId(), builder]);
  const ledger = openLedger({ pool, clock: timeoutFreeClock, gatewayId: "test" });
  const [settled, lost, open] = [createTestHold(builder), createTestHold(builder), createTestHold(builder)];
  for (const hold of [settled, lost, open]) await holdAsBefore(pool, hold);
  await settleAsBefore(pool, createTestSettlement(settled, host));
  await pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [lost.id]);
  assert.equal((await pool.query("select ledger_expire(1000) as expired")).rows[0].expired, 1);

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

  const after = createTestHold(builder);
  await holdAsBefore(pool, after);
  await settleAsBefore(pool, createTestSettlement(after, host));

  assert.equal((await pool.query("select ledger_expire(1000) as expired")).rows[0].expired, 0);
  assert.equal((await pool.query("select count(*)::int as holds from hold")).rows[0].holds, 1);
  assert.equal(await ledger.settle(createTestSettlement(lost, host)), "late");
  assert.equal(await ledger.settle(createTestSettlement(open, host)), "settled");
  assert.deepEqual(await ledger.balance(builder), { balance: 5_000_000n - 4n * TEST_CHARGE, held: 0n });
  const differing = (await checkLedger(pool)).filter(({ differences }) => differences.length > 0);
  assert.deepEqual(differing, []);
});

/** Places a hold like gateways of schema 0018, without a label. */
async function holdAsBefore(pool: TestDatabase["pool"], { id, accountId, amount, keyId }: HoldOrder): Promise<void> {
  const { rows } = await pool.query(
    `select codes from ledger_hold(array[$1]::uuid[], $1::uuid, $1::uuid, array[$2]::uuid[], array[$3]::bigint[], 'test', '1 hour',
       array[$4]::uuid[], '{a key}', '{chat}', '{tiny-3b}', '{tiny-3b-q4-1}', '{llama3}', '{false}', '{3}', '{1}', '{test}')`,
    [id, accountId, amount, keyId],
  );
  assert.deepEqual(rows, [{ codes: [1] }]);
}

async function settleAsBefore(pool: TestDatabase["pool"], s: Settlement): Promise<void> {
  const { rows } = await pool.query(
    `select ledger_settle(array[$1]::uuid[], array[$2]::uuid[], array[$3]::uuid[], array[$4]::uuid[], array[$5]::bigint[], '{ok}',
       '{200}', '{stop}', '{5}', '{0}', '{1}', '{1}', '{2}', '{3}', array[$6]::bigint[]) as codes`,
    [s.id, s.accountId, s.paidHostId, s.nodeId, s.charge, creationTimeMsOf(s.id)],
  );
  assert.deepEqual(rows, [{ codes: [1] }]);
}
