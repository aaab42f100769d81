/** A question that the console asks, with the plain query that must return the same figures. */
import type pg from "pg";
import type { Uuid } from "../../gateway/src/base/ids.ts";

export interface Setting {
  /** For the plain queries, which may take long. */
  pool: pg.Pool;
  /** A new connection for what is asked first. */
  connect: () => Promise<pg.Pool>;
  account: Uuid;
  now: number;
  repeats?: number;
}

export interface Question {
  name: string;
  ask: (pool: pg.Pool) => Promise<unknown[]>;
  plain: () => Promise<unknown[]>;
}
