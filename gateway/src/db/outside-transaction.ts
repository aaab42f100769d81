/**
 * Runs a migration outside of the shared transaction (`-- transaction: none`): one statement that takes long on a big
 * table but does not block writes. Two forms are allowed. Both can be repeated after an interruption:
 * - `create [unique] index concurrently if not exists NAME on TABLE …`: an index left invalid is dropped and built
 *   again. PostgreSQL cannot build an index concurrently on a partitioned table. There, each partition's index is built
 *   and attached.
 * - `alter table TABLE validate constraint NAME`: reads the whole table under a lock that blocks no reads or writes.
 */
import type pg from "pg";
import { z } from "zod";
import type { Migration } from "./migrations.ts";
import { queryRows, row } from "./rows.ts";
import { splitStatements } from "./split-sql-statements.ts";
import { MigrationError } from "./sql-files.ts";

const INDEX = /^create (unique )?index concurrently if not exists (\w+) on (\w+)(\s*\(.*| using .*)$/is;
const VALIDATION = /^alter table (only )?\w+ validate constraint \w+$/i;

const Name = row({ name: z.string() });
/** The longest name in PostgreSQL, which truncates longer ones. */
const NAME_CHARS_MAX = 63;

export async function runOutsideTransaction(client: pg.PoolClient, migration: Migration): Promise<void> {
  const statements = splitStatements(migration.sql);
  const { text: sql = "", line = 1 } = statements[0] ?? {};
  const index = INDEX.exec(sql);
  if (statements.length !== 1 || (index === null && !VALIDATION.test(sql))) {
    throw new MigrationError(
      `Migration ${migration.name} runs outside a transaction, so it must be a single statement: ` +
        "create index concurrently if not exists NAME on TABLE …, or alter table TABLE validate constraint NAME.",
    );
  }
  try {
    if (index === null) await client.query(sql);
    else await createIndex(client, index);
  } catch (error) {
    const why = (error instanceof Error ? error.message : String(error)).replaceAll("\n", " ");
    throw new MigrationError(`Migration ${migration.name} failed in line ${line}: ${why}.`, { cause: error });
  }
}

async function createIndex(client: pg.PoolClient, [, unique = "", name = "", table = "", rest = ""]: RegExpExecArray) {
  const partitions = await partitionsOf(client, table, name);
  if (partitions === undefined) return await build(client, { unique, name, table, rest });
  // Creates only the parent index, which becomes valid when every partition's index is attached. Partitions created
  // later get the index automatically.
  await client.query(`create ${unique}index if not exists ${name} on only ${table}${rest}`);
  for (const partition of partitions) {
    await build(client, { unique, name: partition.index, table: partition.name, rest });
    await client.query(`alter index ${name} attach partition ${partition.index}`);
  }
}

/** Returns the partitions without an attached index, or undefined when the table is not partitioned. */
async function partitionsOf(client: pg.PoolClient, table: string, index: string) {
  const parents = await queryRows(
    client,
    Name,
    "select relname::text as name from pg_class where oid = to_regclass($1) and relkind = 'p'",
    [table],
  );
  if (parents.length === 0) return undefined;
  const partitions = await queryRows(
    client,
    Name,
    `select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = $1::regclass
        and not exists (select from pg_index x join pg_inherits j on j.inhrelid = x.indexrelid
                         where x.indrelid = c.oid and j.inhparent = to_regclass($2))
      order by 1`,
    [table, index],
  );
  return partitions.map(({ name }) => ({ name, index: `${name}_${index}`.slice(0, NAME_CHARS_MAX) }));
}

type Parts = { unique: string; name: string; table: string; rest: string };

async function build(client: pg.PoolClient, { unique, name, table, rest }: Parts): Promise<void> {
  const broken = await queryRows(
    client,
    Name,
    "select indexrelid::regclass::text as name from pg_index where indexrelid = to_regclass($1) and not indisvalid",
    [name],
  );
  if (broken.length > 0) await client.query(`drop index concurrently ${name}`);
  await client.query(`create ${unique}index concurrently if not exists ${name} on ${table}${rest}`);
}
