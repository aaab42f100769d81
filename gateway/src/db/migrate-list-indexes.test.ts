/** Wider indexes replace narrow ones on request tables with rows. Lists return the same rows as before. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

const INDEXES = `
  select i.relname::text as name, x.indisvalid as "isValid",
         (select count(*)::int from pg_inherits j join pg_index p on p.indexrelid = j.inhrelid where j.inhparent = i.oid and p.indisvalid) as parts,
         (select count(*)::int from pg_inherits where inhparent = 'request'::regclass) as partitions
    from pg_index x join pg_class i on i.oid = x.indexrelid
   where x.indrelid = 'request'::regclass and i.relname <> 'request_pkey' order by 1`;

const ROWS = `
  insert into request (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, node_id, label, created_at)
  select (left(uuid_floor(at)::text, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid, md5('account')::uuid, md5('key')::uuid, 'k',
         'chat', 'model-' || i % 3, false, 'ok', 200, case when i % 2 = 0 then md5('node')::uuid end, case when i % 5 = 0 then 'a label' end, at
    from generate_series(1, 3000) i, lateral (select now() - i * interval '1 hour' as at) made`;

test("migrating from schema 0033 replaces each month's indexes by wider ones, so that lists read only matching records", async (t) => {
  const database = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0033") });
  t.after(database.close);
  const { pool } = database;
  await pool.query(ROWS);
  const { rows: before } = await pool.query("select id, label, node_id, model from request order by id");

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

  const { rows: indexes } = await pool.query(INDEXES);
  assert.deepEqual(
    indexes.map(({ name }) => name),
    ["request_account", "request_by_cost", "request_by_label", "request_by_node", "request_host"],
  );
  for (const { isValid, parts, partitions, name } of indexes)
    assert.deepEqual([isValid, parts], [true, partitions], name);
  const { rows: after } = await pool.query("select id, label, node_id, model from request order by id");
  assert.deepEqual(after, before);

  await pool.query("vacuum analyze request");
  const plans = await pool.connect();
  try {
    await plans.query("set enable_seqscan = off");
    // Leaves out months without rows, for which any index is equally good.
    const { rows: months } = await plans.query("select distinct tableoid::regclass::text as name from request");
    const isFilled = (line: string): boolean => months.some(({ name }) => line.includes(` on ${name} `));
    for (const [of, found] of [
      [
        "account_id = md5('account')::uuid and label = 'a label' and model = 'model-1' and key_id = md5('key')::uuid",
        200,
      ],
      ["node_id = md5('node')::uuid and model = 'model-1' and outcome = 'ok'", 500],
    ] as const) {
      const text = `select id from request where ${of}`;
      assert.equal((await plans.query(text)).rows.length, found);
      const plan = (await plans.query(`explain ${text}`)).rows.map((row) => String(row["QUERY PLAN"]));
      const scans = plan.filter((line) => line.includes(" Scan ") && isFilled(line));
      assert.ok(scans.length > 0, plan.join("\n"));
      for (const scan of scans) assert.match(scan, /Index Only Scan/);
    }
  } finally {
    plans.release(true);
  }
});
