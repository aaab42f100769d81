/** The row types of queries about refused calls. */
import { z } from "zod";
import { column, row } from "../db/rows.ts";

/** The sum of refused calls by key and code. */
export const RefusedCallSum = row({
  keyId: column.uuid,
  keyName: z.string(),
  code: z.string(),
  status: column.count,
  requests: column.count,
  lastAt: column.moment,
});
export type RefusedCallSum = z.infer<typeof RefusedCallSum>;

export const RecentRefusedCalls = row({
  code: z.string(),
  /** Newest first. */
  examples: z.array(
    // `at`: Unix milliseconds.
    row({ at: z.number(), key: column.uuid, model: z.string().nullable(), message: z.string() }),
  ),
});
export type RecentRefusedCalls = z.infer<typeof RecentRefusedCalls>;
