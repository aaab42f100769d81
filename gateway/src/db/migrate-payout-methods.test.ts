/**
 * The migration that adds payout methods, on a database with payouts: they stay unchanged, and the next payout records
 * where it was sent.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

const id = (n: number): string => `01a1e000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const [HOST, FIRST, SECOND] = [1, 2, 3].map(id) as [string, ...string[]];

test("migrating from schema 0053 keeps earlier payouts, and later payouts record the payout method", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0053") });
  t.after(close);
  await pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [HOST]);
  await pool.query("insert into ledger_account (id, kind) values ($1, 'host')", [HOST]);
  await pool.query(
    "insert into payout_batch (id, note, created_by, paid_at, paid_by) values ($1, '', 'o', now(), 'o')",
    [FIRST],
  );
  await pool.query("insert into payout (id, batch_id, account_id, amount) values ($1, $1, $2, 9000)", [FIRST, HOST]);

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

  await pool.query(
    "insert into payout_method (account_id, kind, holder, number) values ($1, 'paypal', 'H', 'henry@example.com')",
    [HOST],
  );
  await pool.query("select ledger_transfer($1, 'grant', $2, 9000, 'earned')", [id(10), HOST]);
  await pool.query("select payout_create($1, '', 'o', 1, 0)", [SECOND]);
  assert.deepEqual((await pool.query("select payout_paid($1, 'o') as code", [SECOND])).rows, [{ code: 1 }]);
  const { rows } = await pool.query("select amount, paid_to from payout order by batch_id");
  assert.deepEqual(rows, [
    { amount: 9000n, paid_to: null },
    { amount: 9000n, paid_to: "PayPal h…@example.com" },
  ]);
});
