/** The migrations and functions of this program, and the oldest schema that it supports. */
import { join } from "node:path";
import { type BaseSchema, readBaseSchema } from "./base-schema.ts";
import { type Migration, readMigrations, SQL_DIRECTORY } from "./migrations.ts";
import { OLDEST_SCHEMA } from "./schema-status.ts";
import { type FunctionFile, readFunctions } from "./sql-functions.ts";

export interface BundledSql {
  migrations: Migration[];
  /** The file base.sql, from which an empty database is created. */
  base: BaseSchema | undefined;
  functions: FunctionFile[];
  /** The number of the oldest supported schema. */
  oldestSchema: number;
}

interface ProgramOptions {
  /** The SQL directory, with the folders migrations/ and functions/, and base.sql. Default: the program's own. */
  directory?: string;
  oldestSchema?: number;
}

export async function readBundledSql({
  directory = SQL_DIRECTORY,
  oldestSchema = OLDEST_SCHEMA,
}: ProgramOptions = {}): Promise<BundledSql> {
  const migrations = await readMigrations(directory);
  return {
    migrations,
    base: await readBaseSchema(directory, migrations),
    functions: await readFunctions(join(directory, "functions")),
    oldestSchema,
  };
}

/**
 * The oldest program version (by its newest migration) that works with the database after this migration. After a
 * removal, only programs that include the migration do.
 */
export const findOldestCompatibleProgram = ({ oldestSchema }: BundledSql, { phase, version }: Migration): number =>
  phase === "after" ? version : oldestSchema;
