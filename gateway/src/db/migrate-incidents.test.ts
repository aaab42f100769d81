/** Incidents of models from before the migration stay on the status page. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

test("migrating from schema 0047 keeps ended incidents of models on the status page, and drops open ones", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0047") });
  t.after(close);
  await pool.query(
    `insert into incident (model, kind, began_at, ended_at, last_at)
     values ('a', 'unavailable', '2026-11-01 10:00Z', '2026-11-01 10:05Z', null),
            ('b', 'errors', '2026-11-02 10:00Z', '2026-11-02 10:10Z', '2026-11-02 10:05Z'),
            ('c', 'unavailable', '2026-11-03 10:00Z', null, null)`,
  );
  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });
  const { rows } = await pool.query(
    `select model, state, cause, began_at = opened_at as opened, ended_at - began_at = last_at - began_at as ended
       from status_incident order by model`,
  );
  assert.deepEqual(rows.map(Object.values), [
    ["a", "down", "no_capacity", true, true],
    ["b", "degraded", "errors", true, true],
  ]);
  assert.equal((await pool.query("select judged_at from status_turn")).rows.length, 1);
});
