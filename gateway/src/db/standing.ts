/**
 * Whether a database and this program are compatible, by migration numbers. A gateway works with the previous release's schema, and
 * with a later one while nothing it needs was removed: each migration records the oldest compatible program.
 */
import type pg from "pg";
import { z } from "zod";
import { type Migration, padded } from "./migrations.ts";
import { column, queryOne, queryRows, row } from "./rows.ts";
import { MigrationError } from "./sql-files.ts";

/**
 * The oldest supported schema, which is also the oldest program that works with migrations that only add: the previous release's last
 * migration (gateway/sql/releases). Updated at each release.
 */
export const OLDEST_SCHEMA = 28;

const MigrationRow = row({
  version: column.count,
  name: z.string(),
  sha256: z.string(),
  /** The oldest program, by its newest migration, that works with the database. Null in records of old programs. */
  worksWith: column.count.nullable(),
});
type MigrationRow = z.infer<typeof MigrationRow>;

const There = row({ isThere: z.boolean() });

export interface Standing {
  /** The newest applied migration; 0: none. */
  schema: number;
  /** Migrations not yet applied, in order. */
  pending: Migration[];
  /** The database has migrations unknown to this program, but is compatible. */
  isNewer: boolean;
}

/** Needs only read access. */
export async function readStanding(db: pg.Pool | pg.PoolClient, migrations: Migration[]): Promise<Standing> {
  return judge(migrations, await readRecords(db));
}

async function readRecords(db: pg.Pool | pg.PoolClient): Promise<MigrationRow[]> {
  const { isThere } = await queryOne(db, There, `select to_regclass('migration') is not null as "isThere"`);
  if (!isThere) return [];
  // Reads through JSON, because tables of the previous release lack the column.
  return await queryRows(
    db,
    MigrationRow,
    `select version, name, sha256, (to_jsonb(m) ->> 'works_with')::int as "worksWith" from migration m order by version`,
  );
}

/** Throws if files and database differ, or the database is incompatible. */
function judge(migrations: Migration[], applied: MigrationRow[]): Standing {
  for (const [at, record] of applied.entries()) {
    if (record.version !== at + 1) {
      throw new MigrationError(
        `The database has migration ${record.name} but not ${padded(at + 1)}. Restore a backup.`,
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
