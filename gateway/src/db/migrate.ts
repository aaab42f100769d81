/**
 * Numbered, forward-only migrations. Each file runs in a transaction of its own, together with the row that records
 * it. One lock is held for the whole run, so that of two processes started at once one migrates and the other waits.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { z } from "zod";
import type { Log } from "../base/log.ts";
import { LOCK, LOCK_CLASS } from "./advisory.ts";
import { column, queryOne, queryRows, row } from "./rows.ts";

/** The database and the migrations do not fit together, or one failed. One line that a person can act on. */
export class MigrationError extends Error {
  override name = "MigrationError";
}

interface Migration {
  version: number;
  /** The file's name: "0001_ledger.sql". */
  name: string;
  sql: string;
  sha256: string;
}

const Applied = row({ version: column.count, name: z.string(), sha256: z.string() });
type Applied = z.infer<typeof Applied>;
const Taken = row({ taken: z.boolean() });
const Transaction = row({ id: z.string() });

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
const LOCK_WAIT = "10min";

export async function migrate(pool: pg.Pool, options: { directory: string; log: Log }): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(options.directory);
  const client = await pool.connect();
  try {
    await takeLock(client, options.log);
    const pending = choosePending(migrations, await readApplied(client));
    for (const migration of pending) {
      await apply(client, migration);
      options.log.info({ migration: migration.name }, "migration applied");
    }
    return { applied: pending.map((migration) => migration.name) };
  } finally {
    // Closed rather than given back: its end frees the lock, and what a migration has set goes with it.
    client.release(true);
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  const migrations: Migration[] = [];
  for (const name of names) {
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
    // A checkout may have changed the line ends; that is no change of the migration.
    const sql = (await readFile(join(directory, name), "utf8")).replaceAll("\r\n", "\n");
    migrations.push({ version, name, sql, sha256: createHash("sha256").update(sql).digest("hex") });
  }
  return migrations;
}

const padded = (version: number): string => String(version).padStart(4, "0");

async function takeLock(client: pg.PoolClient, log: Log): Promise<void> {
  // A migration may take as long as it needs, unlike the gateway's statements.
  await client.query("set statement_timeout = 0");
  const key = [LOCK_CLASS, LOCK.migration];
  const { taken } = await queryOne(client, Taken, "select pg_try_advisory_lock($1, $2) as taken", key);
  if (taken) return;
  log.info("waiting for another process that migrates the database");
  await client.query(`set lock_timeout = '${LOCK_WAIT}'`);
  await client.query("select pg_advisory_lock($1, $2)", key);
  await client.query("reset lock_timeout");
}

async function readApplied(client: pg.PoolClient): Promise<Applied[]> {
  await client.query(
    `create table if not exists migration (
       version int primary key,
       name text not null,
       sha256 text not null,
       applied_at timestamptz not null default now()
     )`,
  );
  return await queryRows(client, Applied, "select version, name, sha256 from migration order by version");
}

/** What is left to do, or a refusal when files and database do not tell the same story. */
function choosePending(migrations: Migration[], applied: Applied[]): Migration[] {
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
  try {
    await client.query("begin");
    const before = await currentTransaction(client);
    await client.query(migration.sql);
    if ((await currentTransaction(client)) !== before) {
      throw new MigrationError(`it ends its own transaction: remove its begin, commit or rollback`);
    }
    await client.query("insert into migration (version, name, sha256) values ($1, $2, $3)", [
      migration.version,
      migration.name,
      migration.sha256,
    ]);
    await client.query("commit");
  } catch (error) {
    // The connection is closed by the caller, which rolls back.
    throw new MigrationError(`Migration ${migration.name} failed${whereAndWhy(migration, error)}`, { cause: error });
  }
}

async function currentTransaction(client: pg.PoolClient): Promise<string> {
  return (await queryOne(client, Transaction, "select pg_current_xact_id()::text as id")).id;
}

function whereAndWhy(migration: Migration, error: unknown): string {
  const message = (error instanceof Error ? error.message : String(error)).replaceAll("\n", " ");
  if (!(error instanceof pg.DatabaseError) || error.position === undefined) return `: ${message}.`;
  // PostgreSQL counts characters, where a JavaScript string counts UTF-16 units.
  const before = [...migration.sql].slice(0, Number(error.position) - 1);
  const line = before.filter((char) => char === "\n").length + 1;
  return ` in line ${line}: ${message}.`;
}
