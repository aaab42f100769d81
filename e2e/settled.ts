/**
 * Reading the history after an answer. Where the database takes longer than a second, a gateway answers first: the settlement
 * is safe on its disk and reaches the tables later. Until then the request's hold is there.
 */
import { eventually } from "@tollgate/stage/wait.ts";
import { lastRecord, type RecordRow } from "./ledger-check.ts";
import type { Platform } from "./platform.ts";

type Books = Pick<Platform, "query">;

/** Resolves when every request that was answered is in the tables, and none is in flight. */
export async function untilSettled({ query }: Books): Promise<void> {
  await eventually("no hold is left", async () => (await query("select id from hold")).length === 0);
}

/** The newest record, once nothing is in flight. */
export async function settledRecord(platform: Books): Promise<RecordRow> {
  await untilSettled(platform);
  return await lastRecord(platform);
}
