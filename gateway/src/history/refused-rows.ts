/** Queries of refused calls. */
import { z } from "zod";
import { column, row } from "../db/rows.ts";

/** The sum of refused calls by key and code. */
export const RefusedSum = row({
  keyId: column.uuid,
  keyName: z.string(),
  code: z.string(),
  status: column.count,
  requests: column.count,
  lastAt: column.moment,
});
export type RefusedSum = z.infer<typeof RefusedSum>;

export const RefusedExamples = row({
  code: z.string(),
  /** Newest first. */
  examples: z.array(
    // `at`: Unix milliseconds.
    row({ at: z.number(), key: column.uuid, model: z.string().nullable(), message: z.string() }),
  ),
});
export type RefusedExamples = z.infer<typeof RefusedExamples>;
