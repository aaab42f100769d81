/**
 * A database created from base.sql equals one created by the migrations one by one, and every older database still
 * migrates to the same schema.
 */
import assert from "node:assert/strict";
import { copyFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import type pg from "pg";
import { createLog } from "../base/log.ts";
import { BASE_FILE, formatBaseSchemaHeader, readBaseSchema } from "./base-schema.ts";
import { migrate } from "./migrate.ts";
import { padVersion, readMigrations } from "./migrations.ts";
import { OLDEST_SCHEMA } from "./schema-status.ts";
import { describeSchema, findSchemaDifferences, queryTexts } from "./testing/describe-schema.ts";
import { makeSqlDirectory, makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

const log = createLog("silent");
const migrations = await readMigrations(SQL_SOURCE_DIRECTORY);

/** Returns a directory without base.sql, so that all migrations run one by one. */
async function oneByOne(t: Pick<TestContext, "after">): Promise<string> {
  const directory = await makeSqlDirectory(t);
  for (const folder of ["migrations", "functions"]) {
    for (const name of await readdir(join(SQL_SOURCE_DIRECTORY, folder)))
      await copyFile(join(SQL_SOURCE_DIRECTORY, folder, name), join(directory, folder, name));
  }
  return directory;
}

/** Returns every row of every table, except for values that depend on time or chance. */
async function rowsOf(pool: pg.Pool): Promise<Record<string, string[]>> {
  const tables = await queryTexts(pool, "select tablename from pg_tables where schemaname = 'public' order by 1");
  const found: Record<string, string[]> = {};
  for (const table of tables) {
    const without = ["applied_at", "created_at", "at", ...(table === "deployment" ? ["id"] : [])];
    const rows = await queryTexts(
      pool,
      `select (to_jsonb(r) - '{${without}}'::text[])::text from ${table} r order by 1`,
    );
    if (rows.length > 0) found[table] = rows;
  }
  return found;
}

test("base.sql creates the same schema, functions, grants and rows as the migrations", async (t) => {
  const base = await readBaseSchema(SQL_SOURCE_DIRECTORY, migrations);
  assert.ok(base !== undefined && base.version > 0);
  const made = await openTestDatabase();
  t.after(made.close);
  const grown = await openTestDatabase({ sql: await oneByOne(t) });
  t.after(grown.close);
  assert.deepEqual(findSchemaDifferences(await describeSchema(made.pool), await describeSchema(grown.pool)), []);
  const rows = await rowsOf(made.pool);
  assert.deepEqual(rows, await rowsOf(grown.pool));
  assert.equal(rows["migration"]?.length, migrations.length);
  assert.deepEqual(await migrate(made.pool, { directory: SQL_SOURCE_DIRECTORY, log }), {
    migrations: [],
    functions: [],
    left: [],
  });
});

const fresh = (async () => {
  const { pool, close } = await openTestDatabase();
  after(close);
  return await describeSchema(pool);
})();

const LEDGER_SINCE = 3;
const REQUESTS_SINCE = 4;
const idOf = (version: number): string => `01a1e000-0000-7000-8000-${String(version).padStart(12, "0")}`;

/** Inserts an account, with rows in the ledger and request tables if that schema version has them. */
async function addRows(pool: pg.Pool, version: number): Promise<void> {
  const id = [idOf(version)];
  await pool.query("insert into account (id, kind, name) values ($1, 'builder', 'an account')", id);
  if (version >= LEDGER_SINCE) await pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", id);
  if (version >= REQUESTS_SINCE)
    await pool.query(
      `insert into request (id, account_id, key_id, key_name, endpoint, stream, outcome, http_status, created_at)
       values ($1, $1, $1, 'a key', 'chat', false, 'ok', 200, now())`,
      id,
    );
}

/** Asserts that the schema equals that of a new database, and that it has only the rows inserted at these versions. */
async function assertLikeNew(pool: pg.Pool, versions: number[]): Promise<void> {
  const since = (first: number): string[] => versions.filter((version) => version >= first).map(idOf);
  const [accounts, ledger, requests] = [since(1), since(LEDGER_SINCE), since(REQUESTS_SINCE)];
  assert.deepEqual(
    await queryTexts(pool, "select concat(id, name) from account order by id"),
    accounts.map((id) => `${id}an account`),
  );
  assert.deepEqual(await queryTexts(pool, "select id from ledger_account where kind = 'builder' order by id"), ledger);
  assert.deepEqual(
    await queryTexts(pool, "select concat(id, outcome) from request order by id"),
    requests.map((id) => `${id}ok`),
  );
  assert.deepEqual(findSchemaDifferences(await describeSchema(pool), await fresh), []);
}

test("migrating a database with rows at every step gives the same schema as an empty one", async (t) => {
  const directory = await makeSqlDirectory(t);
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectory(t) });
  t.after(close);
  for (const { name, version } of migrations) {
    await copyFile(join(SQL_SOURCE_DIRECTORY, "migrations", name), join(directory, "migrations", name));
    assert.deepEqual((await migrate(pool, { directory, log })).migrations, [name]);
    await addRows(pool, version);
  }
  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log });
  await assertLikeNew(
    pool,
    migrations.map(({ version }) => version),
  );
});

// Starts from the first schema, from the first schema with all of these rows, and from the last release's. Migrations
// from any other schema would only repeat a part of these runs, on the same kinds of rows.
for (const version of [1, REQUESTS_SINCE, OLDEST_SCHEMA]) {
  test(`migrating a database with rows from schema ${version} gives the same schema as an empty one`, async (t) => {
    const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, padVersion(version)) });
    t.after(close);
    await addRows(pool, version);
    await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log });
    await assertLikeNew(pool, [version]);
  });
}

test("migrations newer than base.sql run after it, and a base.sql newer than the migrations is ignored", async (t) => {
  const TWO = { "0001_first.sql": "create table first (a int);", "0002_second.sql": "create table second (a int);" };
  const directory = await makeSqlDirectory(t, { migrations: TWO });
  const known = await readMigrations(directory);
  const write = (count: number) =>
    writeFile(
      join(directory, BASE_FILE),
      `${formatBaseSchemaHeader(known.slice(0, count))}\ncreate table first (from_base int);`,
    );
  await write(1);
  const empty = await openTestDatabase({ sql: await makeSqlDirectory(t) });
  t.after(empty.close);
  assert.deepEqual((await migrate(empty.pool, { directory, log })).migrations, Object.keys(TWO));
  await empty.pool.query("select from_base from first cross join second");
  await writeFile(join(directory, BASE_FILE), "-- migrations: 0001 to 0002, of others\n");
  await assert.rejects(migrate(empty.pool, { directory, log }), /base\.sql does not match the migrations/);
});
