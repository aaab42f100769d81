/**
 * base.sql: the schema after the first migrations, in one file (written by gateway/tools/write-base.ts). An empty
 * database is created from it instead of running each migration; other databases continue from their migration.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Migration, padVersion } from "./migrations.ts";
import { computeSha256, MigrationError, type SqlFile } from "./sql-files.ts";

export const BASE_FILE = "base.sql";

export interface BaseSchema extends SqlFile {
  /** The number of the last migration that base.sql includes. */
  version: number;
}

/** Reads base.sql in `directory`. Undefined if there is no such file. */
export async function readBaseSchema(directory: string, migrations: Migration[]): Promise<BaseSchema | undefined> {
  const sql = await readIfThere(join(directory, BASE_FILE));
  if (sql === undefined) return undefined;
  const [, version = "", checksum] = /^-- migrations: 0001 to (\d{4}), (\w+)$/m.exec(sql) ?? [];
  if (checksum !== checksumOf(migrations, Number(version))) {
    throw new MigrationError(
      `${BASE_FILE} does not match the migrations 0001 to ${version || padVersion(migrations.length)}: ` +
        "run npx node gateway/tools/write-base.ts.",
    );
  }
  return { name: BASE_FILE, sql, version: Number(version) };
}

/** The first line of base.sql, which identifies the migrations that it was written from. */
export const formatBaseSchemaHeader = (migrations: Migration[]): string =>
  `-- migrations: 0001 to ${padVersion(migrations.length)}, ${checksumOf(migrations, migrations.length)}`;

const checksumOf = (migrations: Migration[], version: number): string =>
  computeSha256(
    migrations
      .slice(0, version)
      .map(({ name, sha256 }) => `${name} ${sha256}\n`)
      .join(""),
  );

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).replaceAll("\r\n", "\n");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
