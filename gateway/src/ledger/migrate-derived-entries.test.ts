/** The migration to derived ledger entries, on a database with history: no statement line and no balance changes. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createLog } from "../base/log.ts";
import { DAY_MS } from "../base/time.ts";
import { migrate } from "../db/migrate.ts";
import { padVersion } from "../db/migrations.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "../db/testing/sql-directory.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openHistoryRetention } from "../history/history-retention.ts";
import { makeIdAt, makePastMonths, monthsAgo, waitPastMidnight } from "../history/testing-past-months.ts";
import { openOverview } from "../operators/overview.ts";
import { checkLedger } from "./check.ts";
import { DERIVED_ENTRIES_MIGRATION } from "./sql-views.ts";
import { openAccountStatement } from "./statement.ts";
import { newId } from "./testing.ts";

const [IDENTITY, BUILDER, HOST, NODE, KEY] = [newId(), newId(), newId(), newId(), newId()];

let database: TestDatabase;

/** Holds and settles a request with one input and one output token, as gateways of the previous version do. */
async function served(charge: number, when?: Date): Promise<void> {
  await aMillisecondLater();
  const at = when ?? new Date();
  const id = makeIdAt(at);
  await database.pool.query(
    `select ledger_hold(array[$1]::uuid[], $1, $1, array[$2]::uuid[], array[$3]::bigint[], 'g', '1 minute', array[$4]::uuid[],
       '{k}', '{chat}', '{tiny-3b}', '{b}', '{t}', '{false}', '{1}', '{1}', '{c}')`,
    [id, BUILDER, charge, KEY],
  );
  await database.pool.query(
    `select ledger_settle(array[$1]::uuid[], array[$2]::uuid[], array[$3]::uuid[], array[$4]::uuid[], array[$5]::bigint[],
       '{ok}', '{200}', '{stop}', '{1}', '{0}', '{1}', '{0}', '{0}', '{0}', array[$6]::bigint[])`,
    [id, BUILDER, HOST, NODE, charge, at.getTime()],
  );
  // Marks the request for the rollup, as the SQL functions of the previous version did.
  await database.pool.query("insert into unrolled (request_id, outcome) values ($1, 'ok')", [id]);
}

/** Separates entries in time: since the migration, entries of the same millisecond have no order. */
const aMillisecondLater = (): Promise<unknown> => database.pool.query("select pg_sleep(0.002)");

async function move(kind: string, account: string, amount: number): Promise<void> {
  await aMillisecondLater();
  await database.pool.query("select ledger_transfer($1, $2, $3, $4, 'a reason')", [newId(), kind, account, amount]);
}

async function assertProved(): Promise<void> {
  const results = await checkLedger(database.pool);
  assert.deepEqual(
    results.filter(({ differences }) => differences.length > 0),
    [],
  );
}

/**
 * Reads the entries, statements and totals that users see. Statement lines have no IDs here, because the migration
 * changes them.
 */
async function told() {
  const { pool } = database;
  const statement = openAccountStatement({ pool });
  const lines = await statement.lines(BUILDER, { limit: 100 });
  const byDay = await statement.byDay(BUILDER);
  const { rows } = await pool.query(
    "select operation, account_id, kind, amount::text, at from ledger_entry order by operation, account_id",
  );
  const { builderCredit, hostsOwed, platformRevenue } = await openOverview({ pool }).totals();
  return {
    entries: rows,
    lines: lines.map(({ id, ...line }) => line),
    byDay: byDay.map(({ place, ...row }) => row),
    money: { builderCredit, hostsOwed, platformRevenue },
  };
}

/** Opens a database of the previous version, in which one owner has a builder and a host account. */
async function openBefore(t: TestContext): Promise<TestDatabase["pool"]> {
  database = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, padVersion(DERIVED_ENTRIES_MIGRATION - 1)) });
  t.after(database.close);
  const { pool } = database;
  await pool.query("insert into price values (1, 'tiny-3b', 100, 900)");
  await pool.query("insert into identity (id, email, name) values ($1, 'a@example.test', 'A')", [IDENTITY]);
  for (const [account, kind] of [
    [BUILDER, "builder"],
    [HOST, "host"],
  ]) {
    await pool.query("insert into account (id, kind, name) values ($1, $2, 'an account')", [account, kind]);
    await pool.query("insert into ledger_account (id, kind) values ($1, $2)", [account, kind]);
    await pool.query("insert into account_owner values ($1, $2)", [IDENTITY, account]);
  }
  return pool;
}

test("migrating from the previous schema keeps requests, transfers, payouts and set-offs", async (t) => {
  const pool = await openBefore(t);
  await move("purchase", BUILDER, 10_000);
  await move("grant", BUILDER, 500);
  for (let n = 0; n < 5; n++) await served(1_000);
  await move("refund", BUILDER, 1_500);
  assert.equal((await pool.query("select payout_create($1, 'paid', 'o', 1, 0)", [newId()])).rowCount, 1);
  await pool.query("select payout_paid(id, 'o') from payout_batch");
  await served(1_000);
  // The dispute exceeds the balance, so later earnings of the owner's host account pay the debt.
  await move("dispute", BUILDER, 10_000);
  await aMillisecondLater();
  await pool.query("select payout_create($1, 'set off', 'o', 1, 0)", [newId()]);
  const { rows: setOff } = await pool.query("select sum(amount)::int as amount from payout_setoff");
  assert.deepEqual(setOff, [{ amount: 700 }]);

  await assertProved();
  const before = await told();
  assert.ok(before.entries.length > 20);
  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });
  await assertProved();
  assert.deepEqual(await told(), before);
});

test("after the migration, a month that the previous version recorded closes like any other month", async (t) => {
  await waitPastMidnight();
  const pool = await openBefore(t);
  await move("purchase", BUILDER, 10_000);
  await makePastMonths(pool, 1);
  for (const hour of [0, 1, 2]) await served(1_000, new Date(monthsAgo(1).getTime() + (hour * DAY_MS) / 24));
  await served(1_000);
  await assertProved();
  const { byDay, money } = await told();
  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });
  await pool.query("select history_roll_up(1000)");
  const rules = { historyDays: 0, refusalsDays: undefined, exportDir: undefined, payoutHoldDays: 0 };
  const done = await openHistoryRetention({ pool, rules, now: () => monthsAgo(0).getTime() }).retain();
  assert.deepEqual(
    done?.closed.map(({ rows, charged, shared }) => [rows, charged, shared]),
    [[3n, 3_000n, 2_100n]],
  );
  await assertProved();
  const after = await told();
  assert.deepEqual([after.byDay, after.money], [byDay, money]);
});
