/** Records requests again that the database lost together with their holds, so that they can be settled late. */
import type pg from "pg";
import { z } from "zod";
import { formatUnquotedArray, parseNumbers } from "../db/arrays.ts";
import { queryOne, row } from "../db/rows.ts";
import { type HoldOrder, makeRequestColumns } from "./hold.ts";

const Codes = row({ codes: z.string() });
const RESTORE = `select ledger_restore($1::text::uuid[], $2::text::uuid[], $3::text::bigint[], $4::text::uuid[], $5::text::text[],
  $6::text::text[], $7::text::text[], $8::text::text[], $9::text::text[], $10::text::boolean[], $11::text::integer[],
  $12::text::integer[], $13::text::text[], $14::text::text[])::text as codes`;

/** `known`: the database still has the request, in flight or ended. */
export type RestoreOutcome = "restored" | "known" | "no_account";

/** Records all requests of the batch in one transaction. */
export async function restoreLostRequests(pool: pg.Pool, orders: HoldOrder[]): Promise<RestoreOutcome[]> {
  const { codes } = await queryOne(pool, Codes, RESTORE, [
    formatUnquotedArray(orders.map((o) => o.id)),
    formatUnquotedArray(orders.map((o) => o.accountId)),
    formatUnquotedArray(orders.map((o) => o.amount)),
    ...makeRequestColumns(orders),
  ]);
  return parseNumbers(codes).map((code) => (code === 1 ? "restored" : code === 2 ? "known" : "no_account"));
}
