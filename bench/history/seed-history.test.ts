import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openTestDatabase, type TestDatabase } from "../../gateway/src/db/testing.ts";
import { checkLedger } from "../../gateway/src/ledger/check.ts";
import { seedHistory } from "./seed-history.ts";

const ROWS = 4_000;
const DAYS = 5;

let db: TestDatabase;
before(async () => {
  db = await openTestDatabase();
});
after(() => db.close());

test("a seeded history has the rollups that the gateway would write, and its ledger balances", async () => {
  const { pool } = db;
  await seedHistory(pool, { rows: ROWS, days: DAYS, whole: true });
  for (const table of ["performance", "label_day"]) {
    await pool.query(`create table seeded_${table} as select * from ${table}`);
    await pool.query(`truncate ${table}`);
  }
  await pool.query(
    "insert into unrolled (request_id, outcome) select id, outcome from request where not starts_with(outcome, 'rate_limit_')",
  );
  await pool.query("select history_roll_up($1)", [ROWS]);
  await pool.query("select history_merge_performance(1000000, 'infinity')");
  // Seed and gateway both leave out five-minute slots older than three days, each by its own clock.
  const kept = { performance: "grain <> '5min' or slot >= now() - interval '3 days'", label_day: "true" };
  for (const [table, where] of Object.entries(kept)) {
    const [made, seeded] = [table, `seeded_${table}`].map((name) => `select * from ${name} where ${where}`);
    const { rows } = await pool.query(
      `select (select count(*)::int from ${table}) as rows,
              (select count(*)::int from (${made} except ${seeded}) d) as missing,
              (select count(*)::int from (${seeded} except ${made}) d) as more`,
    );
    assert.ok(rows[0].rows > 100, `${table}: ${rows[0].rows}`);
    assert.deepEqual([rows[0].missing, rows[0].more], [0, 0], table);
  }
  const { rows: closed } = await pool.query("select what, count(*)::int as days from closed_day group by 1 order by 1");
  assert.deepEqual(
    closed.map(({ what, days }) => [what, days >= DAYS - 2]),
    [
      ["performance", true],
      ["usage", true],
    ],
  );
  assert.deepEqual(
    (await checkLedger(pool)).filter(({ differences }) => differences.length > 0),
    [],
  );
});
