/** The migrations and functions of this program, and the oldest schema that it supports. */
import { join } from "node:path";
import { type Base, readBase } from "./base.ts";
import { type FunctionFile, readFunctions } from "./functions.ts";
import { type Migration, readMigrations, SQL_DIRECTORY } from "./migrations.ts";
import { OLDEST_SCHEMA } from "./standing.ts";

export interface Program {
  migrations: Migration[];
  /** The file from which an empty database is created. */
  base: Base | undefined;
  functions: FunctionFile[];
  /** The oldest supported schema. */
  oldestSchema: number;
}

interface ProgramOptions {
  /** Contains the folders migrations/ and functions/, and base.sql. Default: the program's own. */
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

/** The oldest program that works with the database after this migration: if it removes something, only programs that know it. */
export const worksWith = ({ oldestSchema }: Program, { phase, version }: Migration): number =>
  phase === "after" ? version : oldestSchema;
