/**
 * Queries with a schema for their rows. The schema provides the rows' type. Tests check every row against it;
 * production does not. So a schema only describes and never converts: a query selects values in the form that the code
 * needs. The pool decides whether rows are checked (`enableRowValidation`), and testing.ts turns this on.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { InvariantError } from "../base/invariant.ts";
import type { Pico } from "../base/money.ts";
import { PreparedQuery } from "./prepared-query.ts";

const CHECKED = Symbol("rows are checked");

/** A pool, or a client of a pool. */
interface Queryable {
  query(
    query: string | { name: string; text: string; values: unknown[] } | PreparedQuery,
    values?: unknown[],
  ): Promise<{ rows: unknown[] }>;
  [CHECKED]?: true;
}

/** The query's text, or text with the name of a prepared statement. */
type QueryText = string | { name: string; text: string };

/** A schema whose input and output types are equal. It cannot convert values, because production skips the schemas. */
type RowSchema<Row> = z.ZodType<Row, Row>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Types of column values, as pools opened with `openPool` return them. */
export const column = {
  uuid: z.custom<Uuid>((value) => typeof value === "string" && UUID.test(value), "expected a uuid"),
  /** An amount of money: a bigint or numeric column, or a sum. */
  pico: z.custom<Pico>((value) => typeof value === "bigint", "expected a bigint or numeric value"),
  bigint: z.bigint(),
  /** A non-negative whole number: a smallint or integer column, or a larger one cast to float8. */
  count: z.int().nonnegative(),
  moment: z.date(),
  bytes: z.instanceof(Buffer),
  json: z.record(z.string(), z.unknown()),
};

/** A schema for rows with exactly these columns. */
export const row = z.strictObject;

/** Thrown when a row does not match its schema, because the query and the schema have diverged. */
export class RowMismatch extends Error {
  override name = "RowMismatch";
}

/** Checks this pool's rows from now on. Call it before the pool is used. */
export function enableRowValidation(pool: pg.Pool): pg.Pool {
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

/** Returns the first row, or undefined if there is none. */
export async function queryRow<Row>(
  db: Queryable,
  schema: RowSchema<Row>,
  query: QueryText,
  values: unknown[] = [],
): Promise<Row | undefined> {
  // Does not call queryRows, which would cost another promise per request.
  const { rows } = await send(db, query, values);
  const first = rows[0];
  if (db[CHECKED] === true && first !== undefined) check(schema, query, 0, first);
  return first as Row | undefined;
}

/** Returns the row of a query that always has one, such as a sum. */
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
  throw new RowMismatch(
    `row ${index} of the result does not match the schema (${fields.join("; ")}). The query: ${nameOf(query)}`,
    { cause: error },
  );
}

const nameOf = (query: QueryText): string =>
  typeof query === "string" ? query.replaceAll(/\s+/g, " ").trim() : query.name;
