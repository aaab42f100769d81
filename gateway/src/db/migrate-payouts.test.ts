/**
 * Tests the migration that records which of a host's earnings come from its owners' own requests. The database already
 * has an open payout batch, whose payouts stay unchanged.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

let database: TestDatabase;

const id = (n: number): string => `01a1e000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const [IDENTITY, BUILDER, STRANGER, HOST, NODE, KEY] = [1, 2, 3, 4, 5, 6].map(id) as [string, ...string[]];

async function value(sql: string, values: unknown[] = []): Promise<unknown> {
  const { rows } = await database.pool.query({ text: sql, values, rowMode: "array" });
  return rows[0]?.[0];
}

/** Holds and settles a request with the functions of schema 0014. The host gets 70 % of the charge. */
async function served(n: number, account: unknown, charge: number): Promise<void> {
  await database.pool.query(
    `select ledger_hold(array[$1]::uuid[], $1, $1, array[$2]::uuid[], array[$3]::bigint[], 'g', '1 minute', array[$4]::uuid[],
       '{k}', '{chat}', '{tiny-3b}', '{b}', '{t}', '{false}', '{1}', '{1}', '{c}')`,
    [id(n), account, charge, KEY],
  );
  await database.pool.query(
    `select ledger_settle(array[$1]::uuid[], array[$2]::uuid[], array[$3]::uuid[], array[$4]::uuid[], array[$5]::bigint[],
       '{ok}', '{200}', '{stop}', '{1}', '{0}', '{1}', '{0}', '{0}', '{0}', array[$6]::bigint[])`,
    [id(n), account, HOST, NODE, charge, Date.now()],
  );
}

test("migrating from schema 0014 marks hosts' own requests, and later debts are not set off against an open payout batch", async (t) => {
  database = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0014") });
  t.after(database.close);
  const { pool } = database;
  await pool.query("insert into identity (id, email, name) values ($1, 'a@example.test', 'A')", [IDENTITY]);
  for (const [account, kind] of [
    [BUILDER, "builder"],
    [STRANGER, "builder"],
    [HOST, "host"],
  ]) {
    await pool.query("insert into account (id, kind, name) values ($1, $2, 'an account')", [account, kind]);
    await pool.query("insert into ledger_account (id, kind) values ($1, $2)", [account, kind]);
    if (account !== STRANGER) await pool.query("insert into account_owner values ($1, $2)", [IDENTITY, account]);
    if (kind === "builder") {
      await pool.query("select ledger_transfer($1, 'purchase', $2, 10000, 'bought')", [
        id(Number(account?.slice(-1)) + 90),
        account,
      ]);
    }
  }
  await served(20, BUILDER, 1000);
  await served(21, STRANGER, 2000);
  await served(22, BUILDER, 10);
  assert.equal(await value("select payout_create($1, 'old', 'o', 1)", [id(50)]), 1);
  assert.equal(await value("select amount from payout where batch_id = $1", [id(50)]), 2107n);

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

  const { rows: own } = await pool.query("select id, own from request order by id");
  assert.deepEqual(
    own.map((row) => [row.id, row.own]),
    [
      [id(20), true],
      [id(21), false],
      [id(22), true],
    ],
  );
  assert.equal(String(await value("select sum(own_pico) from earning_hour")), "707");
  assert.equal(String(await value("select sum(host_pico) from earning_hour")), "2107");
  await served(23, BUILDER, 100);
  assert.equal(String(await value("select sum(own_pico) from earning_hour")), "777");

  // The owner of the host also owns the builder account and disputes its card payment, which leaves a debt. The new
  // payout batch sets the debt off against earnings that the open batch does not contain, however recent they are. The
  // open batch does not change.
  await pool.query("select ledger_transfer($1, 'dispute', $2, 10000, 'charged back')", [id(60), BUILDER]);
  assert.equal(await value("select payout_create($1, 'new', 'o', 1, 7)", [id(51)]), 0);
  assert.equal(await value("select amount from payout_setoff where batch_id = $1", [id(51)]), 70n);
  assert.equal(await value("select payout_create($1, 'new', 'o', 1, 7)", [id(51)]), 0, "a repeat changes nothing");
  assert.equal(String(await value("select balance from ledger_account where id = $1", [HOST])), "2107");
  assert.equal(await value("select payout_paid($1, 'o')", [id(50)]), 1);
  assert.equal(String(await value("select balance from ledger_account where id = $1", [HOST])), "0");
  assert.equal(String(await value("select sum(balance) from ledger_book")), "0");
});
