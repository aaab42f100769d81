/**
 * Brings a database up to date: numbered, forward-only migrations, then the functions (functions.ts). One that is empty begins with
 * what the first migrations leave behind (base.ts). All of it is one
 * transaction, so that a gateway that runs meanwhile finds tables and functions that fit each other, and one that fails
 * leaves the database at the version it had; only a migration that asks to run alone (alone.ts) cuts it in two. One lock is
 * held for the whole run, so that of two processes started at once one migrates and the other waits.
 *
 * What takes something away from the version before (`-- phase: after`) runs only where no one of it is connected.
 */
import type pg from "pg";
import type { Log } from "../base/log.ts";
import { runAlone } from "./alone.ts";
import { connectedPrograms, shownPrograms } from "./connected.ts";
import { isDeadlock } from "./errors.ts";
import { applyFunctions, compareFunctions, FUNCTION_RECORDS } from "./functions.ts";
import { takeMigrationLock } from "./migration-lock.ts";
import type { Migration } from "./migrations.ts";
import { type Program, readProgram, worksWith } from "./program.ts";
import { MigrationError, runSqlFile } from "./sql-files.ts";
import { readStanding, type Standing } from "./standing.ts";

const MIGRATION_RECORDS = `create table if not exists migration (
  version int primary key,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default now()
);
alter table migration add column if not exists works_with int`;

/** What was done: the names of migrations and of functions. */
export interface Applied {
  migrations: string[];
  functions: string[];
  /** Of the phase after, and left for later. */
  left: string[];
}

/**
 * What becomes of migrations of the phase after: `leave` them; run them `if alone`, when no program is connected that they would
 * hurt; or `insist`, and refuse where one is.
 */
export type AfterPhase = "leave" | "if alone" | "insist";

interface MigrateOptions {
  /** Holds the folders migrations/ and functions/. */
  directory: string;
  log: Log;
  after?: AfterPhase;
  /** For tests: the release before, in a directory that is made up. */
  oldestSchema?: number;
}

/** One transaction may meet requests in the wrong order so often; then something else is wrong. */
const DEADLOCKS_MAX = 10;

export async function migrate(
  pool: pg.Pool,
  { log, after = "if alone", ...options }: MigrateOptions,
): Promise<Applied> {
  const program = await readProgram(options);
  if (await isNothingToDo(pool, program)) return { migrations: [], functions: [], left: [] };
  for (let deadlocks = 1; ; deadlocks++) {
    try {
      return await migrateOnce(pool, program, { log, after });
    } catch (error) {
      if (!isDeadlock(error) || deadlocks === DEADLOCKS_MAX) throw error;
      log.info(
        { deadlocks },
        "could not migrate the database while requests hold locks; nothing was changed, trying again",
      );
    }
  }
}

async function migrateOnce(
  pool: pg.Pool,
  program: Program,
  { log, after }: Required<Pick<MigrateOptions, "log" | "after">>,
): Promise<Applied> {
  const client = await pool.connect();
  try {
    await takeMigrationLock(client, log);
    const standing = await readStanding(client, program.migrations);
    if (standing.isNewer) return { migrations: [], functions: [], left: [] };
    const { now, left } = await choose(client, standing, after);
    await client.query(MIGRATION_RECORDS);
    await client.query(FUNCTION_RECORDS);
    const functions = await apply(client, program, standing.schema, now);
    const names = (migrations: Migration[]): string[] => migrations.map(({ name }) => name);
    const applied = { migrations: names(now), functions, left: names(left) };
    if (now.length + functions.length > 0) log.info(applied, "database migrated");
    else if (left.length > 0) log.info(applied, "migrations deferred until no older gateway is connected");
    return applied;
  } finally {
    // Closed rather than given back: its end frees the lock, and what a migration has set goes with it.
    client.release(true);
  }
}

/** Then no one waits for the lock either: someone may be at a migration that takes hours. */
async function isNothingToDo(pool: pg.Pool, { migrations, functions }: Program): Promise<boolean> {
  const { pending, isNewer } = await readStanding(pool, migrations);
  if (isNewer) return true;
  if (pending.length > 0) return false;
  const { changed, gone } = await compareFunctions(pool, functions, migrations.length);
  return changed.length + gone.length === 0;
}

/**
 * Migrations keep their order, so those of the phase after that an upgrade left undone run before what the next release adds: the
 * gateways it begins with know them.
 */
async function choose(
  client: pg.PoolClient,
  { pending }: Standing,
  mode: AfterPhase,
): Promise<{ now: Migration[]; left: Migration[] }> {
  const all = pending.length;
  const needed = pending.findLastIndex(({ phase }) => phase === "before") + 1;
  const counts = { leave: [needed], "if alone": [all, needed], insist: [all] }[mode];
  const programs = await connectedPrograms(client);
  let refusal: MigrationError | undefined;
  for (const count of counts) {
    const newest = pending.slice(0, count).findLast(({ phase }) => phase === "after");
    const older = newest === undefined ? [] : programs.filter(({ schema }) => schema < newest.version);
    if (older.length === 0) return { now: pending.slice(0, count), left: pending.slice(count) };
    refusal = new MigrationError(
      `Migration ${newest?.name} removes objects that older gateways need, and some are connected: ${shownPrograms(older)}. ` +
        "Stop them first; nothing was changed.",
    );
  }
  throw refusal;
}

/** Returns how many of the migrations an empty database has had with it. */
async function makeFromBase(client: pg.PoolClient, { base }: Program, migrations: Migration[]): Promise<number> {
  if (base === undefined || base.version > migrations.length) return 0;
  await runSqlFile(client, "Base", base);
  return base.version;
}

/** Returns the names of the functions that changed. */
async function apply(
  client: pg.PoolClient,
  program: Program,
  schema: number,
  migrations: Migration[],
): Promise<string[]> {
  // Where anything fails the connection is closed, which rolls back.
  await client.query("begin");
  const changed: string[] = [];
  const made = schema === 0 ? await makeFromBase(client, program, migrations) : 0;
  for (const [done, migration] of migrations.entries()) {
    if (done < made) {
      // The base has it already.
    } else if (migration.isAlone) {
      // What is committed here others work with, for as long as the next takes: the functions must fit the tables.
      if (done > 0) changed.push(...(await applyFunctions(client, program.functions, schema + done)));
      await client.query("commit");
      await runAlone(client, migration);
      await client.query("begin");
    } else {
      await runSqlFile(client, "Migration", migration);
    }
    await client.query("insert into migration (version, name, sha256, works_with) values ($1, $2, $3, $4)", [
      migration.version,
      migration.name,
      migration.sha256,
      worksWith(program, migration),
    ]);
  }
  const isNew = made > 0;
  changed.push(...(await applyFunctions(client, program.functions, schema + migrations.length, { isNew })));
  await client.query("commit");
  return [...new Set(changed)].sort();
}
