/**
 * better-auth takes the time of day from this machine, and our tables have the database's. Moments are converted on their way between the two,
 * so that a session ends for every gateway when the database's clock says so.
 */
import type pg from "pg";
import { replacing } from "./witness.ts";

/** `aheadMs`: how far the database's clock is ahead of this machine's. */
export function onMachineTime(pool: pg.Pool, aheadMs: () => number): pg.Pool {
  const connect = async (): Promise<pg.PoolClient> =>
    replacing(await pool.connect(), "query", (client) => async (text: string, values: unknown[] = []) => {
      const result = await client.query(
        text,
        values.map((value) => moved(value, aheadMs())),
      );
      for (const row of result.rows) for (const name of Object.keys(row)) row[name] = moved(row[name], -aheadMs());
      return result;
    });
  return replacing(pool, "connect", () => connect);
}

const moved = (value: unknown, byMs: number): unknown =>
  value instanceof Date ? new Date(value.getTime() + byMs) : value;
