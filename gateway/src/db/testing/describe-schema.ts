/** Test helper: the complete schema of a database, as lines of text to compare. */
import type pg from "pg";

export async function queryTexts(pool: pg.Pool, sql: string): Promise<string[]> {
  const { rows } = await pool.query({ text: sql, rowMode: "array" });
  return rows.map(([text]) => String(text));
}

export const PUBLIC_NAMESPACE_SQL = "'public'::regnamespace";

/**
 * Returns one list of lines per kind of object. A partition is only listed with its bounds, because it has the columns
 * of its table.
 */
export async function describeSchema(pool: pg.Pool): Promise<Record<string, string[]>> {
  const lists = {
    functions: `select concat(pg_get_functiondef(oid), ' ', proacl) from pg_proc where pronamespace = ${PUBLIC_NAMESPACE_SQL}
      order by oid::regprocedure::text`,
    triggers: `select pg_get_triggerdef(g.oid) from pg_trigger g join pg_class c on c.oid = g.tgrelid
      where c.relnamespace = ${PUBLIC_NAMESPACE_SQL} and not g.tgisinternal and not c.relispartition order by 1`,
    relations: `select format('%s %s %s %s %s %s', oid::regclass, relkind, relreplident, relacl, reloptions, pg_get_partkeydef(oid))
      from pg_class where relnamespace = ${PUBLIC_NAMESPACE_SQL} and relkind in ('r', 'p', 'v', 'm', 'S') and not relispartition order by 1`,
    views: `select concat(oid::regclass, ' ', pg_get_viewdef(oid)) from pg_class where relnamespace = ${PUBLIC_NAMESPACE_SQL} and relkind = 'v' order by 1`,
    // Columns in their order. Gaps that dropped columns leave are ignored.
    columns: `select concat_ws(' ', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
                     case when a.attnotnull then 'not null' end, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated,
                     a.attstorage, a.attcompression, a.attacl, a.attoptions)
       from pg_attribute a join pg_class c on c.oid = a.attrelid
       left join pg_attrdef d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
      where c.relnamespace = ${PUBLIC_NAMESPACE_SQL} and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
      order by a.attrelid::regclass::text, a.attnum`,
    // Omits the names of `not null` constraints, which PostgreSQL 18 generates depending on existing names.
    constraints: `select format('%s %s %s', k.conrelid::regclass, case when k.contype <> 'n' then k.conname end,
                     pg_get_constraintdef(k.oid))
       from pg_constraint k join pg_class c on c.oid = k.conrelid
      where c.relnamespace = ${PUBLIC_NAMESPACE_SQL} and not c.relispartition order by 1`,
    domains: `select format('%s %s %s', t.typname, format_type(t.typbasetype, t.typtypmod), pg_get_constraintdef(k.oid))
       from pg_type t left join pg_constraint k on k.contypid = t.oid
      where t.typnamespace = ${PUBLIC_NAMESPACE_SQL} and t.typtype in ('d', 'e') order by 1`,
    indexes: `select concat(pg_get_indexdef(i.indexrelid), ' ', i.indisvalid) from pg_index i join pg_class c on c.oid = i.indrelid
      where c.relnamespace = ${PUBLIC_NAMESPACE_SQL} and not c.relispartition order by 1`,
    partitions: `select format('%s %s %s indexes', c.oid::regclass, pg_get_expr(c.relpartbound, c.oid),
                     (select count(*) from pg_index i where i.indrelid = c.oid and i.indisvalid))
       from pg_class c where c.relnamespace = ${PUBLIC_NAMESPACE_SQL} and c.relispartition and c.relkind = 'r' order by 1`,
    comments: `select format('%s %s', classoid::regclass, description) from pg_description d
       join pg_class c on c.oid = d.objoid and c.relnamespace = ${PUBLIC_NAMESPACE_SQL} order by 1`,
  };
  const entries = Object.entries(lists).map(async ([kind, sql]) => [kind, await queryTexts(pool, sql)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Returns the lines that only one of two schemas has, and one line per kind of object whose order differs. */
export function findSchemaDifferences(one: Record<string, string[]>, other: Record<string, string[]>): string[] {
  return Object.keys({ ...one, ...other }).flatMap((kind) => {
    const [mine = [], theirs = []] = [one[kind], other[kind]];
    const only = [
      ...mine.filter((line) => !theirs.includes(line)).map((line) => `+ ${kind}: ${line}`),
      ...theirs.filter((line) => !mine.includes(line)).map((line) => `- ${kind}: ${line}`),
    ];
    return only.length > 0 || mine.join("\n") === theirs.join("\n") ? only : [`${kind}: another order`];
  });
}
