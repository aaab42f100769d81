/**
 * Brings a database up to date: numbered, forward-only migrations, then the functions (functions.ts). All of it is one
 * transaction, so that a gateway that runs meanwhile finds tables and functions that fit each other, and one that fails
 * leaves the database at the version it had. One lock is held for the whole run, so that of two processes started at once
 * one migrates and the other waits.
 */
import { join } from "node:path";
import type pg from "pg";
import { z } from "zod";
import type { Log } from "../base/log.ts";
import { LOCK, LOCK_CLASS } from "./advisory.ts";
import { applyFunctions, FUNCTION_RECORDS, readFunctions } from "./functions.ts";
import { column, queryOne, queryRows, row } from "./rows.ts";
import { MigrationError, readSqlFiles, runSqlFile, type SqlFile, sha256Of } from "./sql-files.ts";

interface Migration extends SqlFile {
  version: number;
  sha256: string;
}

const MigrationRow = row({ version: column.count, name: z.string(), sha256: z.string() });
type MigrationRow = z.infer<typeof MigrationRow>;
const Taken = row({ taken: z.boolean() });

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
const LOCK_WAIT = "10min";
const MIGRATION_RECORDS = `create table if not exists migration (
  version int primary key,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default now()
)`;

/** What was done: the names of migrations and of functions. */
interface Applied {
  migrations: string[];
  functions: string[];
}

/** `directory` holds the folders migrations/ and functions/. */
export async function migrate(pool: pg.Pool, options: { directory: string; log: Log }): Promise<Applied> {
  const migrations = await readMigrations(join(options.directory, "migrations"));
  const functions = await readFunctions(join(options.directory, "functions"));
  const client = await pool.connect();
  try {
    await takeLock(client, options.log);
    await client.query(MIGRATION_RECORDS);
    await client.query(FUNCTION_RECORDS);
    const pending = choosePending(migrations, await readRecords(client));
    // Where anything fails the connection is closed, which rolls back.
    await client.query("begin");
    for (const migration of pending) await apply(client, migration);
    const applied = {
      migrations: pending.map((migration) => migration.name),
      functions: await applyFunctions(client, functions),
    };
    await client.query("commit");
    if (applied.migrations.length + applied.functions.length > 0)
      options.log.info(applied, "database brought up to date");
    return applied;
  } finally {
    // Closed rather than given back: its end frees the lock, and what a migration has set goes with it.
    client.release(true);
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const { name, sql } of await readSqlFiles(directory)) {
    const version = Number(FILE_NAME.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(version)) {
      throw new MigrationError(`Migration ${name} is not named like 0001_what_it_does.sql.`);
    }
    const before = migrations.at(-1);
    if (before?.version === version) {
      throw new MigrationError(`Migrations ${before.name} and ${name} have the same number: renumber one.`);
    }
    const expected = migrations.length + 1;
    if (version !== expected) {
      throw new MigrationError(`Migration ${padded(expected)} is missing: the next file is ${name}.`);
    }
    migrations.push({ version, name, sql, sha256: sha256Of(sql) });
  }
  return migrations;
}

const padded = (version: number): string => String(version).padStart(4, "0");

async function takeLock(client: pg.PoolClient, log: Log): Promise<void> {
  // A migration may take, and wait, as long as it needs, unlike the gateway's statements.
  await client.query("set statement_timeout = 0; set lock_timeout = 0");
  const key = [LOCK_CLASS, LOCK.migration];
  const { taken } = await queryOne(client, Taken, "select pg_try_advisory_lock($1, $2) as taken", key);
  if (taken) return;
  log.info("waiting for another process that migrates the database");
  await client.query(`set lock_timeout = '${LOCK_WAIT}'`);
  await client.query("select pg_advisory_lock($1, $2)", key);
  await client.query("set lock_timeout = 0");
}

function readRecords(client: pg.PoolClient): Promise<MigrationRow[]> {
  return queryRows(client, MigrationRow, "select version, name, sha256 from migration order by version");
}

/** What is left to do, or a refusal when files and database do not tell the same story. */
function choosePending(migrations: Migration[], applied: MigrationRow[]): Migration[] {
  const newest = applied.at(-1);
  if (newest && newest.version > migrations.length) {
    throw new MigrationError(
      `The database is newer than this program: it has migration ${newest.name}, and the last one known here is ` +
        `${migrations.at(-1)?.name ?? "none"}. Run the newer version.`,
    );
  }
  for (const [at, row] of applied.entries()) {
    const migration = migrations[at];
    if (migration?.version !== row.version) {
      throw new MigrationError(`The database has migration ${row.name} but not ${padded(at + 1)}: restore a backup.`);
    }
    if (migration.sha256 !== row.sha256) {
      throw new MigrationError(
        `Migration ${migration.name} was changed after it was applied: restore the file and add a new migration.`,
      );
    }
  }
  return migrations.slice(applied.length);
}

async function apply(client: pg.PoolClient, migration: Migration): Promise<void> {
  await runSqlFile(client, "Migration", migration);
  await client.query("insert into migration (version, name, sha256) values ($1, $2, $3)", [
    migration.version,
    migration.name,
    migration.sha256,
  ]);
}
