/**
 * The time from which request records exist. Older months were dropped (`history-retention.ts`): their rollups stay, and a
 * closing entry in the ledger replaces the records. Refusals may be kept for a shorter time.
 */
import type pg from "pg";
import { z } from "zod";
import { column, queryOne, row } from "../db/rows.ts";

const Kept = row({ requestsFrom: column.moment.nullable(), refusalsFrom: column.moment.nullable() });
/** Null: no records were dropped. */
type Kept = z.infer<typeof Kept>;

const There = row({ isThere: z.boolean() });

type KeptFrom = () => Promise<Kept>;

export function openOldestRecordTime({ pool }: { pool: pg.Pool }): KeptFrom {
  // During an upgrade the tables may not exist yet. Then nothing was dropped.
  let isThere = false;
  return async () => {
    if (!isThere) {
      const text = `select to_regclass('history_kept') is not null as "isThere"`;
      isThere = (await queryOne(pool, There, text)).isThere;
    }
    if (!isThere) return { requestsFrom: null, refusalsFrom: null };
    return await queryOne(
      pool,
      Kept,
      `select (select (max(month) + interval '1 month') at time zone 'UTC' from history_closing) as "requestsFrom",
              (select refusals_from from history_kept) as "refusalsFrom"`,
    );
  };
}
