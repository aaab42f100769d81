import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, beforeEach, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { systemClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS } from "./advisory-locks.ts";
import { migrate } from "./migrate.ts";
import { DatabaseOutageGuard } from "./outage-guard.ts";
import { openGuardedPool } from "./outage-guarded-pool.ts";
import { openPool } from "./pool.ts";
import { MigrationError } from "./sql-files.ts";
import { makeSqlDirectory } from "./testing/sql-directory.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

const log = createLog("silent");
const NOTHING = { migrations: [], functions: [], left: [] };
const TWO = { "0001_first.sql": "create table first (a int);", "0002_second.sql": "create table second (a int);" };

const empty = await makeSqlDirectory({ after });
let database: TestDatabase;
beforeEach(async (t) => {
  database = await openTestDatabase({ sql: empty });
  const { close } = database;
  (t as TestContext).after(close);
});

const files = (t: TestContext, migrations: Record<string, string>): Promise<string> =>
  makeSqlDirectory(t, { migrations });
const write = (directory: string, name: string, text: string): Promise<void> =>
  writeFile(join(directory, "migrations", name), text);

async function tables(): Promise<string[]> {
  const { rows } = await database.pool.query<{ tablename: string }>(
    "select tablename from pg_tables where schemaname = 'public' order by 1",
  );
  return rows.map((row) => row.tablename);
}

const refuses = (directory: string, pattern: RegExp): Promise<void> =>
  assert.rejects(migrate(database.pool, { directory, log }), (error) => {
    assert.ok(error instanceof MigrationError, String(error));
    assert.match(error.message, pattern);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  });

test("the migrator runs each migration once, in order", async (t) => {
  const directory = await files(t, { ...TWO, "README.md": "not a migration" });
  assert.deepEqual(await migrate(database.pool, { directory, log }), { ...NOTHING, migrations: Object.keys(TWO) });
  assert.deepEqual(await migrate(database.pool, { directory, log }), NOTHING);
  await write(directory, "0003_third.sql", "alter table first add b text;");
  assert.deepEqual(await migrate(database.pool, { directory, log }), { ...NOTHING, migrations: ["0003_third.sql"] });
  assert.deepEqual(await tables(), ["first", "function_file", "migration", "second"]);
  const { rows } = await database.pool.query("select version, name, length(sha256) as hex from migration order by 1");
  assert.deepEqual(rows[2], { version: 3, name: "0003_third.sql", hex: 64 });
});

test("the migrator turns off the recording of changed rows for migrations, which may update every row", async (t) => {
  const text = "create table mode as select current_setting('tollgate.journal', true) as journal;";
  const directory = await files(t, { "0001_first.sql": text });
  await migrate(database.pool, { directory, log });
  const { rows } = await database.pool.query("select journal from mode");
  assert.deepEqual(rows, [{ journal: "off" }]);
});

test("the migrator rolls back a failed migration and those before it in the same run", async (t) => {
  const directory = await files(t, {
    "0001_first.sql": "create table first (a int);",
    "0002_bad.sql": "-- ü 🙂\ncreate table second (a int);\nselect nonsense;",
  });
  await refuses(directory, /^Migration 0002_bad\.sql failed in line 3: column "nonsense" does not exist\.$/);
  assert.deepEqual(await tables(), ["function_file", "migration"]);
  await write(directory, "0002_bad.sql", "create table second (a int);");
  const { migrations } = await migrate(database.pool, { directory, log });
  assert.deepEqual(migrations, ["0001_first.sql", "0002_bad.sql"]);
});

test("the migrator restarts the run after a deadlock with requests, and gives up after repeated deadlocks", async (t) => {
  const deadlock = (until: number): string =>
    // Counts tries in a sequence, which keeps its value when a transaction rolls back.
    `do $$ begin if nextval('run') < ${until} then raise 'as PostgreSQL does' using errcode = '40P01'; end if; end $$;`;
  await database.pool.query("create sequence run");
  const directory = await files(t, { ...TWO, "0003_both.sql": deadlock(3) });
  const { migrations } = await migrate(database.pool, { directory, log });
  assert.deepEqual(migrations, [...Object.keys(TWO), "0003_both.sql"]);
  await write(directory, "0004_never.sql", deadlock(1_000_000));
  await refuses(directory, /0004_never\.sql failed.*as PostgreSQL does/);
});

test("the migrator refuses a migration that commits its own transaction", async (t) => {
  const directory = await files(t, { "0001_own.sql": "create table first (a int); commit; begin;" });
  await refuses(directory, /0001_own\.sql failed: it ends its own transaction/);
});

test("the migrator refuses migrations with a gap in their numbers", async (t) => {
  await refuses(
    await files(t, { ...TWO, "0004_fourth.sql": "" }),
    /^Migration 0003 is missing: .* 0004_fourth\.sql\.$/,
  );
});

test("the migrator refuses two migrations with the same number", async (t) => {
  await refuses(await files(t, { ...TWO, "0002_other.sql": "" }), /0002_other\.sql and 0002_second\.sql have the same/);
});

test("the migrator refuses a file whose name does not follow the pattern of migrations", async (t) => {
  await refuses(await files(t, { ...TWO, "3-third.sql": "" }), /^Migration 3-third\.sql must be named like/);
});

test("the migrator refuses a migration that changed after it was applied, ignoring line endings", async (t) => {
  const directory = await files(t, { "0001_first.sql": "create table first (\n  a int\n);\n" });
  await migrate(database.pool, { directory, log });
  await write(directory, "0001_first.sql", "create table first (\r\n  a int\r\n);\r\n");
  assert.deepEqual(await migrate(database.pool, { directory, log }), NOTHING);
  await write(directory, "0001_first.sql", "create table first (a text);");
  await refuses(directory, /^Migration 0001_first\.sql was changed after it was applied/);
});

test("the migrator refuses a database newer than the program, unless its migrations are marked as compatible", async (t) => {
  await migrate(database.pool, { directory: await files(t, TWO), log });
  const older = await files(t, { "0001_first.sql": TWO["0001_first.sql"] });
  await refuses(older, /^The database is newer than this program: it has migration 0002_second\.sql/);
  await database.pool.query("update migration set works_with = 1 where version = 2");
  assert.deepEqual(await migrate(database.pool, { directory: older, log }), NOTHING);
  // Simulates a program that did not have this column yet.
  await database.pool.query("alter table migration drop column works_with");
  await refuses(older, /newer than this program/);
});

test("the migrator waits for locks without a limit, unlike other statements", async (t) => {
  const directory = await files(t, {
    "0001_first.sql": "create table bound as select current_setting('lock_timeout') as lock",
  });
  const guard = new DatabaseOutageGuard({
    connection: database.connection,
    clock: systemClock,
    log,
    durability: "assumed",
  });
  const pool = openGuardedPool(database.connection, { guard, log, sizeMax: 1 });
  t.after(() => pool.end());
  await migrate(pool, { directory, log });
  assert.deepEqual((await pool.query("select lock, current_setting('lock_timeout') as here from bound")).rows, [
    { lock: "0", here: "4s" },
  ]);
});

test("when two processes start at once, one runs the migrations and the other waits", async (t) => {
  const directory = await files(t, TWO);
  const other = openPool(database.connection, { log, sizeMax: 2 });
  t.after(() => other.end());
  // Another session holds the migration lock, so that both processes wait before either migrates.
  const gate = new pg.Client(database.connection);
  await gate.connect();
  await gate.query("select pg_advisory_lock($1, $2)", [ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS.migration]);
  const lines: string[] = [];
  const telling = createLog("info", { write: (line) => lines.push(line) });
  const both = Promise.all([database.pool, other].map((pool) => migrate(pool, { directory, log: telling })));
  await eventually("both wait for the lock", () => lines.filter((line) => line.includes("waiting")).length === 2);
  await gate.end();
  const applied = (await both).map((run) => run.migrations.length).sort();
  assert.deepEqual(applied, [0, 2]);
});
