/**
 * Migrates a database: numbered, forward-only migrations, then the functions (sql-functions.ts). An empty database is
 * created from base.sql (base-schema.ts).
 *
 * Everything is one transaction, so that running gateways always find matching tables and functions, and a failure
 * changes nothing. Only migrations that run alone (outside-transaction.ts) split it. A lock covers the whole run: of
 * two concurrent processes one migrates and the other waits. After-phase migrations (`-- phase: after`) remove
 * something. They run only when no connected gateway needs it.
 */
import type pg from "pg";
import type { Log } from "../base/log.ts";
import { type BundledSql, findOldestCompatibleProgram, readBundledSql } from "./bundled-sql.ts";
import { formatConnectedPrograms, listConnectedPrograms } from "./connected-programs.ts";
import { isDeadlock } from "./errors.ts";
import { takeMigrationLock } from "./migration-lock.ts";
import type { Migration } from "./migrations.ts";
import { runOutsideTransaction } from "./outside-transaction.ts";
import { readSchemaStatus, type SchemaStatus } from "./schema-status.ts";
import { MigrationError, runSqlFile } from "./sql-files.ts";
import { applyFunctions, CREATE_FUNCTION_FILE_TABLE, compareFunctions } from "./sql-functions.ts";

const MIGRATION_RECORDS = `create table if not exists migration (
  version int primary key,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default now()
);
alter table migration add column if not exists works_with int`;

/** The names of the migrations and functions that a run applied. */
export interface MigrationResult {
  migrations: string[];
  functions: string[];
  /** The after-phase migrations that the run deferred. */
  left: string[];
}

/**
 * How to handle after-phase migrations, which run after a rollout and remove what only the last release needed. `leave`
 * defers them. `if alone` runs them when no connected program needs what they remove. `insist` runs them, or fails if a
 * connected program needs what they remove.
 */
export type AfterPhaseMigrationMode = "leave" | "if alone" | "insist";

interface MigrateOptions {
  /** The SQL directory, with the folders migrations/ and functions/. */
  directory: string;
  log: Log;
  after?: AfterPhaseMigrationMode;
  /** For tests: the oldest supported schema of an invented release. */
  oldestSchema?: number;
}

/** Deadlocks with concurrent requests are expected. After this many, something else is wrong. */
const DEADLOCKS_MAX = 10;

export async function migrate(
  pool: pg.Pool,
  { log, after = "if alone", ...options }: MigrateOptions,
): Promise<MigrationResult> {
  const program = await readBundledSql(options);
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
  program: BundledSql,
  { log, after }: Required<Pick<MigrateOptions, "log" | "after">>,
): Promise<MigrationResult> {
  const client = await pool.connect();
  try {
    await takeMigrationLock(client, log);
    // Turns off the recording of changed rows, because a migration may update every row. If a failover loses the
    // migration, its changes are lost too.
    await client.query("set tollgate.journal = off");
    const standing = await readSchemaStatus(client, program.migrations);
    if (standing.isNewer) return { migrations: [], functions: [], left: [] };
    const { now, left } = await choose(client, standing, after);
    await client.query(MIGRATION_RECORDS);
    await client.query(CREATE_FUNCTION_FILE_TABLE);
    const functions = await apply(client, program, standing.schema, now);
    const names = (migrations: Migration[]): string[] => migrations.map(({ name }) => name);
    const applied = { migrations: names(now), functions, left: names(left) };
    if (now.length + functions.length > 0) log.info(applied, "database migrated");
    else if (left.length > 0) log.info(applied, "the other migrations wait until no older gateway is connected");
    return applied;
  } finally {
    // Closes the connection instead of returning it to the pool. This frees the lock and drops the settings of the
    // migrations.
    client.release(true);
  }
}

/** Checked before the run waits for the lock, because another process may run a migration for hours. */
async function isNothingToDo(pool: pg.Pool, { migrations, functions }: BundledSql): Promise<boolean> {
  const { pending, isNewer } = await readSchemaStatus(pool, migrations);
  if (isNewer) return true;
  if (pending.length > 0) return false;
  const { changed, gone } = await compareFunctions(pool, functions, migrations.length);
  return changed.length + gone.length === 0;
}

/**
 * Selects the migrations to run now. They keep their order: unfinished after-phase migrations of an earlier upgrade run
 * before those of the next release.
 */
async function choose(
  client: pg.PoolClient,
  { pending }: SchemaStatus,
  mode: AfterPhaseMigrationMode,
): Promise<{ now: Migration[]; left: Migration[] }> {
  const all = pending.length;
  const needed = pending.findLastIndex(({ phase }) => phase === "before") + 1;
  const counts = { leave: [needed], "if alone": [all, needed], insist: [all] }[mode];
  const programs = await listConnectedPrograms(client);
  let refusal: MigrationError | undefined;
  for (const count of counts) {
    const newest = pending.slice(0, count).findLast(({ phase }) => phase === "after");
    const older = newest === undefined ? [] : programs.filter(({ schema }) => schema < newest.version);
    if (older.length === 0) return { now: pending.slice(0, count), left: pending.slice(count) };
    refusal = new MigrationError(
      `Migration ${newest?.name} removes objects that older gateways need, and older gateways are connected: ` +
        `${formatConnectedPrograms(older)}. Stop these gateways first; nothing was changed.`,
    );
  }
  throw refusal;
}

/** Creates an empty database from base.sql, if it exists. Returns how many migrations it includes. */
async function makeFromBase(client: pg.PoolClient, { base }: BundledSql, migrations: Migration[]): Promise<number> {
  if (base === undefined || base.version > migrations.length) return 0;
  await runSqlFile(client, "Base", base);
  return base.version;
}

/** Runs migrations, then applies functions. Returns the names of the changed functions. */
async function apply(
  client: pg.PoolClient,
  program: BundledSql,
  schema: number,
  migrations: Migration[],
): Promise<string[]> {
  // Any failure closes the connection, which rolls back this transaction.
  await client.query("begin");
  const changed: string[] = [];
  const made = schema === 0 ? await makeFromBase(client, program, migrations) : 0;
  for (const [done, migration] of migrations.entries()) {
    if (done < made) {
      // Only records the migration below, because base.sql includes it.
    } else if (migration.isAlone) {
      // The next migration runs outside of a transaction while other programs use the database, so functions must match
      // the tables now.
      if (done > 0) changed.push(...(await applyFunctions(client, program.functions, schema + done)));
      await client.query("commit");
      await runOutsideTransaction(client, migration);
      await client.query("begin");
    } else {
      await runSqlFile(client, "Migration", migration);
    }
    await client.query("insert into migration (version, name, sha256, works_with) values ($1, $2, $3, $4)", [
      migration.version,
      migration.name,
      migration.sha256,
      findOldestCompatibleProgram(program, migration),
    ]);
  }
  const isNew = made > 0;
  changed.push(...(await applyFunctions(client, program.functions, schema + migrations.length, { isNew })));
  await client.query("commit");
  return [...new Set(changed)].sort();
}
