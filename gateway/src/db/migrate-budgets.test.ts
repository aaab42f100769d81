/**
 * The migration that adds budgets, on a database with earlier requests: all rows stay, and requests of the last 90 days
 * are rolled up.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { DAY_MS } from "../base/time.ts";
import { waitPastMidnight } from "../history/testing-past-months.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

const newId = newIds(systemClock, systemRandom());
const [BUILDER, HOST, NODE, KEY] = [newId(), newId(), newId(), newId()];

let database: TestDatabase;

async function value(sql: string, values: unknown[] = []): Promise<unknown> {
  const { rows } = await database.pool.query({ text: sql, values, rowMode: "array" });
  return rows[0]?.[0];
}

/** Places a hold with the functions of schema 0020. */
async function held(amount: number): Promise<Uuid> {
  const id = newId();
  await database.pool.query(
    `select ledger_hold(array[$1]::uuid[], $1, $1, array[$2]::uuid[], array[$3]::bigint[], 'g', '1 hour', array[$4]::uuid[],
       '{k}', '{chat}', '{tiny-3b}', '{b}', '{t}', '{false}', '{1}', '{1}', '{c}')`,
    [id, BUILDER, amount, KEY],
  );
  return id;
}

async function settled(id: Uuid, charge: number, madeMs = Date.now()): Promise<void> {
  await database.pool.query(
    `select ledger_settle(array[$1]::uuid[], array[$2]::uuid[], array[$3]::uuid[], array[$4]::uuid[], array[$5]::bigint[],
       '{ok}', '{200}', '{stop}', '{1}', '{0}', '{1}', '{0}', '{7}', '{9}', array[$6]::bigint[])`,
    [id, BUILDER, HOST, NODE, charge, madeMs],
  );
}

/** All rows, without the columns that the migrations 0021 and 0039 added. */
const OLD = `select jsonb_build_object(
  'keys', (select jsonb_agg(jsonb_build_array(id, account_id, name, reference, secret_hash, created_at, last_used_at, revoked_at,
                                              requests_per_minute_max, tokens_per_minute_max, in_flight_max) order by id)
             from api_key),
  'holds', (select jsonb_agg(to_jsonb(h) - 'label' order by id) from hold h),
  'requests', (select jsonb_agg(to_jsonb(r) - 'label' - 'granted_pico' order by id) from request r),
  'usage', (select jsonb_agg(to_jsonb(u) order by hour, outcome) from usage_hour u),
  'entries', (select jsonb_agg(jsonb_build_array(operation, account_id, kind, amount, at) order by operation, account_id)
                from ledger_entry),
  'accounts', (select jsonb_agg(to_jsonb(a) - 'granted' order by id) from ledger_account a where kind in ('builder', 'host')))::text`;

test("migrating from schema 0020 keeps all rows, rolls up the last 90 days and counts earlier spending in budgets", async (t) => {
  await waitPastMidnight();
  database = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0020") });
  t.after(database.close);
  const { pool } = database;
  for (const [account, kind] of [
    [BUILDER, "builder"],
    [HOST, "host"],
  ]) {
    await pool.query("insert into account (id, kind, name) values ($1, $2, 'an account')", [account, kind]);
    await pool.query("insert into ledger_account (id, kind) values ($1, $2)", [account, kind]);
  }
  await pool.query("select ledger_transfer($1, 'purchase', $2, 10000, 'bought')", [newId(), BUILDER]);
  await pool.query(
    `insert into api_key (id, account_id, name, reference, secret_hash, in_flight_max)
     values ($1, $2, 'production', 'abcdefghijkl', sha256('x'), 5)`,
    [KEY, BUILDER],
  );
  const [first, second] = [await held(1000), await held(1000)];
  await settled(first, 700);
  await settled(second, 300);
  const inFlight = await held(500);
  await settled(await held(40), 40, Date.now() - 100 * DAY_MS);
  await pool.query(
    `select history_refuse(array[$1]::uuid[], array[$2]::uuid[], array[$3]::uuid[], '{k}', '{chat}', '{tiny-3b}', '{false}',
       '{rate_limit_requests}', '{429}', '{c}')`,
    [newId(), BUILDER, KEY],
  );
  const before = await value(OLD);

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

  assert.equal(await value(OLD), before);
  const { rows: waiting } = await pool.query("select request_id, sign, outcome from unrolled order by request_id");
  assert.deepEqual(
    waiting,
    [first, second].map((id) => ({ request_id: id, sign: 1, outcome: "ok" })),
  );
  assert.equal(await value("select history_roll_up(100)"), 2);
  const { rows } = await pool.query(
    `select sum(requests)::int as requests, sum(ok)::int as ok, sum(prompt_tokens)::int as prompt_tokens from performance_with_parts
      where scope = 'account' and grain = 'hour' and key_id = $1`,
    [KEY],
  );
  assert.deepEqual(rows, [{ requests: 2, ok: 2, prompt_tokens: 2 }]);

  await pool.query("select key_budget_set($1, $2, 2000, 3000)", [BUILDER, KEY]);
  const standing = "select array[day_spent, day_held, month_spent, month_held]::text from key_budget where key_id = $1";
  assert.equal(await value(standing, [KEY]), "{1000,500,1000,500}");
  await settled(inFlight, 100);
  assert.equal(await value(standing, [KEY]), "{1100,0,1100,0}");
});
