/**
 * Queries with a schema for their rows. The schema provides the rows' type; tests check every row against it, production does not. A
 * schema therefore only describes and never converts: a query selects values in the form the code needs. The pool decides whether rows
 * are checked (`checkRows`): testing.ts marks its pools.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { InvariantError } from "../base/invariant.ts";
import type { Pico } from "../base/money.ts";
import { PreparedQuery } from "./prepared.ts";

const CHECKED = Symbol("rows are checked");

/** A pool, or a client of one. */
interface Queryable {
  query(
    query: string | { name: string; text: string; values: unknown[] } | PreparedQuery,
    values?: unknown[],
  ): Promise<{ rows: unknown[] }>;
  [CHECKED]?: true;
}

/** The query's text, or text with the name of a prepared statement. */
type QueryText = string | { name: string; text: string };

/** Input and output types are equal, so that no schema converts values: production skips the schemas. */
type RowSchema<Row> = z.ZodType<Row, Row>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Columns as our pools give them (`openPool`). */
export const column = {
  uuid: z.custom<Uuid>((value) => typeof value === "string" && UUID.test(value), "expected a uuid"),
  /** An amount of money: a bigint or numeric column, or a sum. */
  pico: z.custom<Pico>((value) => typeof value === "bigint", "expected a bigint or numeric"),
  bigint: z.bigint(),
  /** A non-negative whole number: smallint, integer, or a larger one cast to float8. */
  count: z.int().nonnegative(),
  moment: z.date(),
  bytes: z.instanceof(Buffer),
  json: z.record(z.string(), z.unknown()),
};

/** A row of exactly these columns. */
export const row = z.strictObject;

/** A row does not match its schema: the query and the schema have diverged. */
export class RowMismatch extends Error {
  override name = "RowMismatch";
}

/** Checks this pool's rows from now on. Call it before the pool is used. */
export function checkRows(pool: pg.Pool): pg.Pool {
  const mark = (db: Queryable): void => {
    db[CHECKED] = true;
  };
  mark(pool);
  return pool.on("connect", mark);
}

export async function queryRows<Row>(
  db: Queryable,
  schema: RowSchema<Row>,
  query: QueryText,
  values: unknown[] = [],
): Promise<Row[]> {
  const { rows } = await send(db, query, values);
  if (db[CHECKED] === true) for (const [index, value] of rows.entries()) check(schema, query, index, value);
  return rows as Row[];
}

/** The first row; undefined without one. */
export async function queryRow<Row>(
  db: Queryable,
  schema: RowSchema<Row>,
  query: QueryText,
  values: unknown[] = [],
): Promise<Row | undefined> {
  // Not built on queryRows, to save a promise per request.
  const { rows } = await send(db, query, values);
  const first = rows[0];
  if (db[CHECKED] === true && first !== undefined) check(schema, query, 0, first);
  return first as Row | undefined;
}

/** The row of a query that always returns one, such as a sum. */
export async function queryOne<Row>(
  db: Queryable,
  schema: RowSchema<Row>,
  query: QueryText,
  values: unknown[] = [],
): Promise<Row> {
  const { rows } = await send(db, query, values);
  const first = rows[0];
  if (first === undefined) throw new InvariantError(`no row returned by: ${nameOf(query)}`);
  if (db[CHECKED] === true) check(schema, query, 0, first);
  return first as Row;
}

function send(db: Queryable, query: QueryText, values: unknown[]): Promise<{ rows: unknown[] }> {
  if (typeof query === "string") return db.query(query, values);
  return db.query("totalCount" in db ? new PreparedQuery(query, values) : { ...query, values });
}

function check<Row>(schema: RowSchema<Row>, query: QueryText, index: number, value: unknown): void {
  const { error } = schema.safeParse(value);
  if (error === undefined) return;
  const fields = error.issues.map(({ path, message }) => `${path.join(".") || "the row"}: ${message}`);
  throw new RowMismatch(`row ${index} does not match its schema (${fields.join("; ")}). The query: ${nameOf(query)}`, {
    cause: error,
  });
}

const nameOf = (query: QueryText): string =>
  typeof query === "string" ? query.replaceAll(/\s+/g, " ").trim() : query.name;
