/**
 * Reads the numbered migrations and their headers:
 * - `-- phase: after`: the migration removes what only the previous version needed, and runs when none of that
 *   version's gateways is connected. Without this line it only adds, and runs before the new version is rolled out.
 * - `-- transaction: none`: one statement that builds on a big table without blocking writes (outside-transaction.ts).
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { computeSha256, MigrationError, readSqlFiles, type SqlFile } from "./sql-files.ts";

/** The SQL directory of this program. */
export const SQL_DIRECTORY: string = fileURLToPath(new URL("../../sql", import.meta.url));

export interface Migration extends SqlFile {
  version: number;
  sha256: string;
  phase: "before" | "after";
  /** True if the migration runs outside of the shared transaction. */
  isAlone: boolean;
}

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
const HEADERS = { phase: ["before", "after"], transaction: ["shared", "none"] } as const;

/** The newest migration that this program knows. */
export const NEWEST_KNOWN_MIGRATION: number = Math.max(
  0,
  ...readdirSync(join(SQL_DIRECTORY, "migrations")).map((name) => Number(FILE_NAME.exec(name)?.[1] ?? 0)),
);

/** Reads the migrations of an SQL directory, which contains the folder migrations/. */
export async function readMigrations(directory: string): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const file of await readSqlFiles(join(directory, "migrations"))) {
    const { name, sql } = file;
    const version = Number(FILE_NAME.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(version)) {
      throw new MigrationError(`Migration ${name} must be named like 0001_what_it_does.sql.`);
    }
    const before = migrations.at(-1);
    if (before?.version === version) {
      throw new MigrationError(`Migrations ${before.name} and ${name} have the same number: renumber one.`);
    }
    const expected = migrations.length + 1;
    if (version !== expected) {
      throw new MigrationError(`Migration ${padVersion(expected)} is missing: the next file found is ${name}.`);
    }
    const phase = header(file, "phase") ?? "before";
    const isAlone = header(file, "transaction") === "none";
    migrations.push({ version, name, sql, sha256: computeSha256(sql), phase, isAlone });
  }
  return migrations;
}

function header<Name extends keyof typeof HEADERS>(
  file: SqlFile,
  name: Name,
): (typeof HEADERS)[Name][number] | undefined {
  const said = new RegExp(`^-- ${name}:(.*)$`, "m").exec(file.sql)?.[1]?.trim();
  const known: readonly string[] = HEADERS[name];
  if (said === undefined || known.includes(said)) return said as (typeof HEADERS)[Name][number] | undefined;
  throw new MigrationError(`Migration ${file.name}: ${name} must be ${known.join(" or ")}, not "${said}".`);
}

export const padVersion = (version: number): string => String(version).padStart(4, "0");
