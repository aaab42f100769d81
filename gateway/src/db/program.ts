/** What this program brings to a database: its migrations, its functions, and how far back it reaches. */
import { join } from "node:path";
import { type Base, readBase } from "./base.ts";
import { type FunctionFile, readFunctions } from "./functions.ts";
import { type Migration, readMigrations, SQL_DIRECTORY } from "./migrations.ts";
import { OLDEST_SCHEMA } from "./standing.ts";

export interface Program {
  migrations: Migration[];
  /** What an empty database is made from, in place of the first migrations. */
  base: Base | undefined;
  functions: FunctionFile[];
  /** The oldest schema that it works with. */
  oldestSchema: number;
}

interface ProgramOptions {
  /** Holds the folders migrations/ and functions/, and base.sql; the program's own unless told. */
  directory?: string;
  oldestSchema?: number;
}

export async function readProgram({
  directory = SQL_DIRECTORY,
  oldestSchema = OLDEST_SCHEMA,
}: ProgramOptions = {}): Promise<Program> {
  const migrations = await readMigrations(directory);
  return {
    migrations,
    base: await readBase(directory, migrations),
    functions: await readFunctions(join(directory, "functions")),
    oldestSchema,
  };
}

/** What a migration's record says when it is applied: one that takes something away is for programs that know it. */
export const worksWith = ({ oldestSchema }: Program, { phase, version }: Migration): number =>
  phase === "after" ? version : oldestSchema;
