/**
 * The oldest moment with request records. Older months were dropped (`retention.ts`): their rollups stay, and a closing in the ledger
 * replaces them. Refusals may be kept for a shorter time.
 */
import type pg from "pg";
import { z } from "zod";
import { column, queryOne, row } from "../db/rows.ts";

const Kept = row({ requestsFrom: column.moment.nullable(), refusalsFrom: column.moment.nullable() });
/** Null: all records were kept. */
type Kept = z.infer<typeof Kept>;

const There = row({ isThere: z.boolean() });

type KeptFrom = () => Promise<Kept>;

export function openKeptFrom({ pool }: { pool: pg.Pool }): KeptFrom {
  // During an upgrade the tables may not exist yet, and then nothing has been dropped.
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
