/**
 * Applies the database's functions from their files, one per file. A file that changed since this database last applied
 * it is applied again with `create or replace`, so that concurrent statements see the old or the new function, never
 * none. Only functions whose parameters or result changed are dropped first, because PostgreSQL would refuse the new
 * function or keep both. gateway/sql/README.md has the rules for two gateway versions on one database.
 */
import pg from "pg";
import { z } from "zod";
import { HOST_SHARE_PERCENT } from "../base/money.ts";
import { column, queryOne, queryRows, row } from "./rows.ts";
import { computeSha256, MigrationError, readSqlFiles, runSqlFile, type SqlFile } from "./sql-files.ts";

export interface FunctionFile extends SqlFile {
  /** The name of the function, and of its file without the ending. */
  function: string;
  /** The checksum of the SQL without the opening comment, computed after constants are filled in. */
  sha256: string;
  /**
   * The number of the after-phase migration that this version of the function belongs to. Until that migration has run,
   * the database keeps the old version. 0: no such migration.
   */
  since: number;
}

const FunctionRecord = row({ name: z.string(), sha256: z.string(), isThere: z.boolean() });
const There = row({ isThere: z.boolean() });
const FunctionForm = row({ oid: column.count, form: z.string() });

const FILE_NAME = /^([a-z][a-z0-9_]*)\.sql$/;
const OPENING_COMMENT = /^(?:--.*\n|\n)+/;
const SINCE = /^-- since: (\d{4})$/m;

/** Constants that SQL functions share with the gateway's code; they replace {{name}}. */
const CONSTANTS: Record<string, string> = { host_share_percent: String(HOST_SHARE_PERCENT) };

export async function readFunctions(directory: string): Promise<FunctionFile[]> {
  return (await readSqlFiles(directory)).map(({ name, sql: source }) => {
    const called = FILE_NAME.exec(name)?.[1];
    if (called === undefined) throw new MigrationError(`Function file ${name} must be named like the_function.sql.`);
    const sql = source.replace(/\{\{(\w+)\}\}/g, (placeholder, constant: string) => {
      const value = CONSTANTS[constant];
      if (value === undefined)
        throw new MigrationError(`Function ${name} uses ${placeholder}, which is not a constant.`);
      return value;
    });
    const [opening = ""] = OPENING_COMMENT.exec(sql) ?? [];
    const since = Number(SINCE.exec(opening)?.[1] ?? 0);
    return { name, function: called, sql, sha256: computeSha256(sql.slice(opening.length)), since };
  });
}

export const CREATE_FUNCTION_FILE_TABLE = `create table if not exists function_file (
  name text primary key,
  sha256 text not null,
  applied_at timestamptz not null default now()
)`;

interface Differences {
  /** Functions that are missing in the database, or differ from their file. */
  changed: FunctionFile[];
  /** Functions that the database recorded and that no longer have a file. */
  gone: string[];
}

/** Compares the function files with a database that is migrated up to `schema`. Only reads. */
export async function compareFunctions(
  db: pg.Pool | pg.PoolClient,
  all: FunctionFile[],
  schema: number,
): Promise<Differences> {
  const files = all.filter(({ since }) => since <= schema);
  const { isThere } = await queryOne(db, There, `select to_regclass('function_file') is not null as "isThere"`);
  if (!isThere) return { changed: files, gone: [] };
  const records = await queryRows(
    db,
    FunctionRecord,
    `select f.name, f.sha256,
            exists (select from pg_proc where proname = f.name and pronamespace = current_schema()::regnamespace) as "isThere"
       from function_file f`,
  );
  const applied = new Map(records.filter((record) => record.isThere).map(({ name, sha256 }) => [name, sha256]));
  return {
    changed: files.filter((file) => applied.get(file.function) !== file.sha256),
    gone: records.map(({ name }) => name).filter((name) => !all.some((file) => file.function === name)),
  };
}

/**
 * Applies changed functions in the caller's transaction and returns their names. `isNew`: the database has no functions
 * yet.
 */
export async function applyFunctions(
  client: pg.PoolClient,
  files: FunctionFile[],
  schema: number,
  { isNew = false }: { isNew?: boolean } = {},
): Promise<string[]> {
  const { changed, gone } = await compareFunctions(client, files, schema);
  if (!(isNew && (await makeAtOnce(client, changed)))) await replaceEach(client, changed);
  await client.query(
    `insert into function_file (name, sha256) select * from unnest($1::text[], $2::text[])
     on conflict (name) do update set sha256 = excluded.sha256, applied_at = excluded.applied_at`,
    [changed.map((file) => file.function), changed.map((file) => file.sha256)],
  );
  // Removes only the record. The function itself stays until a migration drops it, because older gateways may call it.
  await client.query("delete from function_file where name = any ($1)", [gone]);
  return changed.map((file) => file.function);
}

/**
 * Creates all functions in two queries instead of hundreds, which halves the time for a new database. Returns false,
 * and undoes all, if a query failed, or if a name now has no function or several. The caller then applies the files one
 * by one, which reveals the faulty one.
 */
async function makeAtOnce(client: pg.PoolClient, files: FunctionFile[]): Promise<boolean> {
  await client.query("savepoint before_functions");
  const all = files.map(({ sql }) => sql).join("\n;\n");
  try {
    for (const checked of CHECKED) await client.query(`set local check_function_bodies = ${checked};\n${all}`);
    const { isThere } = await queryOne(
      client,
      There,
      `select not exists (select from unnest($1::text[]) called where 1 <> (
         select count(*) from pg_proc where proname = called and pronamespace = current_schema()::regnamespace)) as "isThere"`,
      [files.map((file) => file.function)],
    );
    if (isThere) {
      // Fails if a file ended the transaction, because the savepoint then no longer exists.
      await client.query("release savepoint before_functions");
      return true;
    }
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
  }
  await client.query("rollback to savepoint before_functions");
  return false;
}

/**
 * The value of check_function_bodies in each of two passes. A function may call one from a later file, so bodies are
 * checked only in the second pass, when all functions exist.
 */
const CHECKED = ["off", "on"];

async function replaceEach(client: pg.PoolClient, files: FunctionFile[]): Promise<void> {
  for (const checked of CHECKED) {
    await client.query(`set local check_function_bodies = ${checked}`);
    for (const file of files) await replace(client, file);
  }
}

async function replace(client: pg.PoolClient, file: FunctionFile): Promise<void> {
  const before = await formsOf(client, file);
  await client.query("savepoint before_function");
  try {
    await runSqlFile(client, "Function", file);
  } catch (error) {
    if (before.size === 0 || !isAnotherForm(error)) throw error;
    await client.query("rollback to savepoint before_function");
    for (const form of before.values()) await drop(client, file, form);
    await runSqlFile(client, "Function", file);
  }
  const forms = await formsOf(client, file);
  if ([...forms.keys()].some((oid) => !before.has(oid))) {
    // A changed parameter list created a second function beside the old one, which is dropped here.
    for (const [oid, form] of forms) {
      if (!before.has(oid)) continue;
      await drop(client, file, form);
      forms.delete(oid);
    }
  }
  if (forms.size !== 1) {
    throw new MigrationError(
      `Function file ${file.name} must define exactly one function ${file.function}; it defines ${forms.size}.`,
    );
  }
}

/** Lists the functions of this name by OID, with their parameters: "payout_paid(uuid,text)". */
async function formsOf(client: pg.PoolClient, file: FunctionFile): Promise<Map<number, string>> {
  const forms = await queryRows(
    client,
    FunctionForm,
    `select oid, oid::regprocedure::text as form from pg_proc
      where proname = $1 and pronamespace = current_schema()::regnamespace`,
    [file.function],
  );
  return new Map(forms.map(({ oid, form }) => [oid, form]));
}

/**
 * Drops the function with the given parameters (`form`, such as "payout_paid(uuid,text)"). PostgreSQL refuses if a
 * trigger or another object needs the function; then a migration must drop that object first.
 */
const drop = (client: pg.PoolClient, file: FunctionFile, form: string): Promise<void> =>
  runSqlFile(client, "Function", { name: file.name, sql: `drop function ${form}` });

/**
 * PostgreSQL's error invalid_function_definition: `create or replace` cannot change the result type or parameter names.
 */
const isAnotherForm = (error: unknown): boolean =>
  error instanceof MigrationError && error.cause instanceof pg.DatabaseError && error.cause.code === "42P13";
