/**
 * Decides by migration numbers whether a database and this program are compatible. A gateway works with the previous
 * release's schema, and with a later one as long as nothing that the gateway needs was removed. Each migration records
 * the oldest compatible program.
 */
import type pg from "pg";
import { z } from "zod";
import { type Migration, padVersion } from "./migrations.ts";
import { column, queryOne, queryRows, row } from "./rows.ts";
import { MigrationError } from "./sql-files.ts";

/**
 * The oldest supported schema: the previous release's last migration (gateway/sql/releases). A migration that removes
 * nothing records this number as the oldest compatible program. Updated at each release.
 */
export const OLDEST_SCHEMA = 28;

const MigrationRow = row({
  version: column.count,
  name: z.string(),
  sha256: z.string(),
  /** The oldest program (by its newest migration) that works with the database. Null in records of old programs. */
  worksWith: column.count.nullable(),
});
type MigrationRow = z.infer<typeof MigrationRow>;

const There = row({ isThere: z.boolean() });

export interface SchemaStatus {
  /** The number of the newest applied migration. 0 if none is applied. */
  schema: number;
  /** Known migrations that are not applied yet, in order. */
  pending: Migration[];
  /** True if the database has migrations that this program does not know, but is compatible. */
  isNewer: boolean;
}

/** Compares the database with the known migrations. Needs only read access. */
export async function readSchemaStatus(db: pg.Pool | pg.PoolClient, migrations: Migration[]): Promise<SchemaStatus> {
  return judge(migrations, await readRecords(db));
}

async function readRecords(db: pg.Pool | pg.PoolClient): Promise<MigrationRow[]> {
  const { isThere } = await queryOne(db, There, `select to_regclass('migration') is not null as "isThere"`);
  if (!isThere) return [];
  // Reads through JSON, because the previous release's table lacks the column.
  return await queryRows(
    db,
    MigrationRow,
    `select version, name, sha256, (to_jsonb(m) ->> 'works_with')::int as "worksWith" from migration m order by version`,
  );
}

/** Throws if migration files and database differ, or if the database is incompatible. */
function judge(migrations: Migration[], applied: MigrationRow[]): SchemaStatus {
  for (const [at, record] of applied.entries()) {
    if (record.version !== at + 1) {
      throw new MigrationError(
        `The database has migration ${record.name}, but the earlier migration ${padVersion(at + 1)} is missing. ` +
          "Restore a backup.",
      );
    }
    const migration = migrations[at];
    if (migration !== undefined && migration.sha256 !== record.sha256) {
      throw new MigrationError(
        `Migration ${migration.name} was changed after it was applied. Restore the file and add a new migration.`,
      );
    }
  }
  const unknown = applied.slice(migrations.length);
  const barring = unknown.find((record) => (record.worksWith ?? record.version) > migrations.length);
  if (barring !== undefined) {
    throw new MigrationError(
      `The database is newer than this program: it has migration ${barring.name}, and the newest one known here is ` +
        `${migrations.at(-1)?.name ?? "none"}. Run the newer version.`,
    );
  }
  return { schema: applied.length, pending: migrations.slice(applied.length), isNewer: unknown.length > 0 };
}
