/**
 * Converts times between the sign-in library better-auth, which uses this machine's clock, and our tables, which use
 * the database's clock. So a session ends at the same moment on every gateway.
 */
import type pg from "pg";
import { replaceMethod } from "./database-error-capture.ts";

/** `aheadMs`: returns the database's clock minus this machine's. */
export function convertToMachineTime(pool: pg.Pool, aheadMs: () => number): pg.Pool {
  const connect = async (): Promise<pg.PoolClient> =>
    replaceMethod(await pool.connect(), "query", (client) => async (text: string, values: unknown[] = []) => {
      const result = await client.query(
        text,
        values.map((value) => moved(value, aheadMs())),
      );
      for (const row of result.rows) for (const name of Object.keys(row)) row[name] = moved(row[name], -aheadMs());
      return result;
    });
  return replaceMethod(pool, "connect", () => connect);
}

const moved = (value: unknown, byMs: number): unknown =>
  value instanceof Date ? new Date(value.getTime() + byMs) : value;
