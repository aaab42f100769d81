/** Computes what `tollgate migrate` would do to a database, without changing it. */
import type pg from "pg";
import { z } from "zod";
import type { BundledSql } from "./bundled-sql.ts";
import { type ConnectedProgram, listConnectedPrograms } from "./connected-programs.ts";
import { queryRows, row } from "./rows.ts";
import { readSchemaStatus } from "./schema-status.ts";
import { compareFunctions } from "./sql-functions.ts";
import { findTableLocks, type TableLock } from "./table-locks.ts";

export interface PlannedMigration {
  name: string;
  version: number;
  phase: "before" | "after";
  /** `rows`: the approximate number of rows of the affected table. Undefined if PostgreSQL has no estimate. */
  burdens: (TableLock & { rows: number | undefined })[];
}

export interface MigrationPlan {
  /** The number of the newest applied migration (`schema`) and of the newest known one (`known`). */
  schema: number;
  known: number;
  migrations: PlannedMigration[];
  functions: string[];
  connected: ConnectedProgram[];
}

const TableRows = row({ name: z.string(), rows: z.number() });

export async function planMigration(pool: pg.Pool, program: BundledSql): Promise<MigrationPlan> {
  const client = await pool.connect();
  try {
    const { schema, pending, isNewer } = await readSchemaStatus(client, program.migrations);
    const { changed } = isNewer
      ? { changed: [] }
      : await compareFunctions(client, program.functions, program.migrations.length);
    const rows = await countRows(client);
    const made = new Set<string>();
    const migrations = pending.map(({ name, version, phase, sql }) => ({
      name,
      version,
      phase,
      burdens: findTableLocks(sql, made).map((burden) => ({ ...burden, rows: rows.get(burden.table) })),
    }));
    return {
      schema,
      known: program.migrations.length,
      migrations,
      functions: changed.map((file) => file.function),
      connected: await listConnectedPrograms(client),
    };
  } finally {
    client.release();
  }
}

/** Reads PostgreSQL's row estimates by table. A partitioned table has the sum of its partitions. */
async function countRows(client: pg.PoolClient): Promise<Map<string, number>> {
  const tables = await queryRows(
    client,
    TableRows,
    `select c.relname::text as name, sum(part.reltuples)::float8 as rows
       from pg_class c
      cross join lateral (select c.oid as relid where c.relkind = 'r' union all
                          select relid from pg_partition_tree(c.oid) where c.relkind = 'p' and isleaf) leaf
       join pg_class part on part.oid = leaf.relid and part.reltuples >= 0
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      group by 1`,
  );
  return new Map(tables.map(({ name, rows }) => [name, rows]));
}
