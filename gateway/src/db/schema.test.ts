/**
 * The gateway's SQL: what migrations may contain, one file per function, and the same schema whether a database is new
 * or migrated from 0017, the last migration that defined functions.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import type pg from "pg";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { computeSha256, readSqlFiles } from "./sql-files.ts";
import { readFunctions } from "./sql-functions.ts";
import { describeSchema, findSchemaDifferences, PUBLIC_NAMESPACE_SQL, queryTexts } from "./testing/describe-schema.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

const log = createLog("silent");
/** The last migration that defined functions. */
const LAST_WITH_FUNCTIONS = "0017";

const migrations = await readSqlFiles(join(SQL_SOURCE_DIRECTORY, "migrations"));
const functions = await readFunctions(join(SQL_SOURCE_DIRECTORY, "functions"));

describe("the SQL files", () => {
  test("migrations define no functions or triggers, because they run before functions exist", () => {
    for (const { name, sql } of migrations.filter((file) => file.name.slice(0, 4) > LAST_WITH_FUNCTIONS)) {
      assert.doesNotMatch(sql, /\bcreate\s+(or\s+replace\s+)?(constraint\s+)?(function|procedure|trigger)\b/i, name);
      assert.doesNotMatch(sql, /\bdrop\s+(function|trigger)\s+(?!if\s+exists\b)/i, `${name}: drop it if it exists`);
    }
  });

  test("each function file begins with its purpose and guarantees, then defines that function only", () => {
    for (const { name, function: called, sql } of functions) {
      assert.match(
        sql,
        /^-- [^\n]+\n(-- [^\n]+\n)*-- Guarantees: [^\n]+\n(-- [^\n]+\n)*\ncreate or replace function /,
        name,
      );
      const made = [...sql.matchAll(/^create or replace function (\w+)/gm)].map((match) => match[1]);
      assert.deepEqual(made, [called], name);
    }
  });

  test("the newest migration carries the checksum of all functions", () => {
    const newest = migrations.at(-1);
    const checksum = computeSha256(functions.map((file) => `${file.function} ${file.sha256}\n`).join(""));
    const line = `-- functions: ${checksum}`;
    assert.ok(
      newest?.sql.split("\n").includes(line),
      "functions changed and have no number of their own: an older gateway that restarts would put its functions back. " +
        `Add a migration, if only of comments, with the line\n${line}\nor correct that line in ${newest?.name} if it has not landed yet.`,
    );
  });
});

const id = (n: number): string => `01a1e000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const [BUILDER, HOST, NODE, KEY, SESSION] = [1, 2, 3, 4, 5].map(id) as [string, ...string[]];

/** Holds and settles a request, as a gateway does. */
async function serve(pool: pg.Pool, n: number, charge: bigint): Promise<void> {
  await pool.query(
    `select ledger_hold(array[$1]::uuid[], $1, $1, array[$2]::uuid[], array[$3]::bigint[], 'g', '1 minute', array[$4]::uuid[],
       '{k}', '{chat}', '{tiny-3b}', '{b}', '{t}', '{false}', '{1}', '{1}', '{c}')`,
    [id(n), BUILDER, charge, KEY],
  );
  await pool.query(
    `select ledger_settle(array[$1]::uuid[], array[$2]::uuid[], array[$3]::uuid[], array[$4]::uuid[], array[$5]::bigint[],
       '{ok}', '{200}', '{stop}', '{1}', '{0}', '{1}', '{0}', '{0}', '{0}', '{1763200000000}')`,
    [id(n), BUILDER, HOST, NODE, charge],
  );
}

/** The ledger's rows, without the columns that the migrations 0019, 0021 and 0039 added. */
const BOOKS = `select jsonb_build_object(
  'requests', (select jsonb_agg(to_jsonb(r) - 'short_pico' - 'label' - 'granted_pico' order by id) from request r),
  'entries', (select jsonb_agg(jsonb_build_array(operation, account_id, kind, amount, at) order by operation, account_id)
                from ledger_entry),
  'accounts', (select jsonb_agg(to_jsonb(a) - 'granted' order by id) from ledger_account a where kind in ('builder', 'host')),
  'earnings', (select jsonb_agg(to_jsonb(h)) from earning_hour h),
  'batches', (select jsonb_agg(to_jsonb(p) - '{withheld,newly_withheld,own,paid_to}'::text[] order by id) from payout p))::text`;

describe("the schema", () => {
  test("the SQL functions of a new database are exactly those that the function files define", async (t) => {
    const { pool, close } = await openTestDatabase();
    t.after(close);
    const made = await queryTexts(
      pool,
      `select proname from pg_proc where pronamespace = ${PUBLIC_NAMESPACE_SQL} order by 1`,
    );
    assert.deepEqual(
      made,
      functions.map((file) => file.function),
    );
  });

  test("migrating from schema 0017 gives the same schema as a new database, and keeps rows and hosts' exact shares", async (t) => {
    const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, LAST_WITH_FUNCTIONS) });
    t.after(close);
    for (const [account, kind] of [
      [BUILDER, "builder"],
      [HOST, "host"],
    ]) {
      await pool.query("insert into account (id, kind, name) values ($1, $2, 'an account')", [account, kind]);
      await pool.query("insert into ledger_account (id, kind) values ($1, $2)", [account, kind]);
    }
    await pool.query("select ledger_transfer($1, 'purchase', $2, 5000000000000000000, 'bought')", [id(90), BUILDER]);
    // Includes every remainder modulo 100, and an amount whose sevenfold exceeds 64 bits.
    const charges = [...Array.from({ length: 100 }, (_, i) => 1_000_000n + BigInt(i)), 2_000_000_000_000_000_009n];
    for (const [i, charge] of charges.entries()) await serve(pool, 1000 + i, charge);
    await pool.query("select payout_create($1, 'b', 'o', 1, 0)", [id(91)]);
    await pool.query("insert into identity (id, email, name) values ($1, 'a@example.test', 'A')", [id(92)]);
    await pool.query(
      "insert into identity_session (id, identity_id, token, expires_at) values ($1, $2, 't', now() + interval '1 day')",
      [SESSION, id(92)],
    );
    const [before] = await queryTexts(pool, BOOKS);

    const applied = await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log });

    assert.deepEqual(
      applied.functions,
      functions.map((file) => file.function),
    );
    assert.deepEqual(await queryTexts(pool, BOOKS), [before]);
    const fresh = await openTestDatabase();
    t.after(fresh.close);
    assert.deepEqual(findSchemaDifferences(await describeSchema(pool), await describeSchema(fresh.pool)), []);

    for (const [i, charge] of charges.entries()) await serve(pool, 2000 + i, charge);
    const [shares, sharesBefore] = await Promise.all(
      [2000, 1000].map((n) =>
        queryTexts(pool, `select host_pico from request where id >= '${id(n)}' order by id limit 101`),
      ),
    );
    assert.equal(shares?.length, charges.length);
    assert.deepEqual(shares, sharesBefore);
    assert.deepEqual(await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log }), {
      migrations: [],
      functions: [],
      left: [],
    });
  });
});
