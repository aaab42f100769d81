/**
 * The migration that adds two settings of API keys (labels, reasoning_content) turns them off for existing keys and
 * keeps everything else.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

test("migrating from schema 0041 turns labels and reasoning_content off for existing keys and changes nothing else", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0041") });
  t.after(close);
  await pool.query("insert into account (id, kind, name) values (gen_random_uuid(), 'builder', 'an account')");
  await pool.query(
    `insert into api_key (id, account_id, name, reference, secret_hash, spot_checks, models)
     select gen_random_uuid(), a.id, 'key ' || n, 'reference00' || n, decode(repeat('00', 32), 'hex'), n = 1, array['tiny-3b']
       from account a, generate_series(1, 2) n`,
  );
  const { rows: before } = await pool.query("select * from api_key order by name");

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

  const { rows: after } = await pool.query("select * from api_key order by name");
  assert.deepEqual(
    after,
    before.map((key) => ({ ...key, labels: false, reasoning_content: false })),
  );
  assert.equal(after.length, 2);
});
