/** The type of a console query together with the plain query that must return the same figures. */
import type pg from "pg";
import type { Uuid } from "../../gateway/src/base/ids.ts";

export interface ComparisonContext {
  /** The pool for the plain queries, which may take long. */
  pool: pg.Pool;
  /** Opens a new connection, for the first run of a query. */
  connect: () => Promise<pg.Pool>;
  account: Uuid;
  now: number;
  repeats?: number;
}

export interface ComparedQuery {
  name: string;
  ask: (pool: pg.Pool) => Promise<unknown[]>;
  plain: () => Promise<unknown[]>;
}
