/** The migration that adds sessions of scripts: existing sessions become browser sessions, otherwise unchanged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

test("migrating from schema 0049 keeps each session, and marks it as a browser's session (not a script's)", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0049") });
  t.after(close);
  await pool.query(
    `with person as (insert into identity (id, email, name) values (gen_random_uuid(), 'a@example.test', 'A') returning id)
     insert into identity_session (id, identity_id, token, ip_address, user_agent, expires_at)
     select gen_random_uuid(), id, 'token ' || n, '203.0.113.7', 'Firefox', '2030-01-01' from person, generate_series(1, 3) n`,
  );
  const all = "select * from identity_session order by token";
  const { rows: before } = await pool.query(all);

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

  const { rows } = await pool.query(all);
  assert.deepEqual(
    rows,
    before.map((session) => ({ ...session, script_access: null })),
  );
  assert.deepEqual((await pool.query("select from script_login")).rowCount, 0);
});
