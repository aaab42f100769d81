/** The migration that adds the database history, on a database with an account. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { seededRandom } from "../base/testing.ts";
import { DatabaseLineage } from "./lineage/database-lineage.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

test("migrating from schema 0042 keeps accounts; the first gateway that starts then records an epoch, the ID of the database's history", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0042") });
  t.after(close);
  await pool.query("insert into account (id, kind, name) values (gen_random_uuid(), 'builder', 'an account')");
  const accounts = "select id, kind, name, suspended_at, created_at from account";
  const { rows: before } = await pool.query(accounts);
  const newId = newIds(systemClock, seededRandom(1));
  const memory = { read: async () => undefined, write: async () => {} };
  const lineage = new DatabaseLineage({ memory, newId, clock: systemClock, log: createLog("silent") });
  await lineage.begin(pool);
  assert.equal(lineage.isOn, false, "there is no table yet");

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

  await lineage.begin(pool);
  assert.equal(lineage.isOn, true);
  const { rows } = await pool.query("select epoch, position::int, reason from ledger_history");
  assert.deepEqual(rows, [{ epoch: lineage.seen?.epoch, position: 0, reason: "first" }]);
  assert.deepEqual((await pool.query(accounts)).rows, before);
});
