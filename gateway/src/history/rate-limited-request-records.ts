/**
 * Records requests that were refused with 429. They come in floods, so they are written in batches. A refusal is
 * answered only when it is written, which limits a flood to the database's speed. Above 1,000 refusals an hour of a
 * key, similar ones share a record with a count.
 */
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { EndpointName, LimitOutcome } from "../base/stored-enumerations.ts";
import { formatTextArray, formatUnquotedArray } from "../db/arrays.ts";
import { Batcher } from "../db/batcher.ts";
import { isConnectionLoss } from "../db/errors.ts";

export interface RateLimitedRequest {
  id: Uuid;
  accountId: Uuid;
  keyId: Uuid;
  keyName: string;
  endpoint: EndpointName;
  /** Null when the request's body was not read. */
  model: string | null;
  /** Null when the request's body was not read. */
  stream: boolean | null;
  outcome: LimitOutcome;
  httpStatus: number;
  client: string;
}

export interface RateLimitedRequestRecords {
  record(refusal: RateLimitedRequest): Promise<void>;
  idle(): Promise<void>;
}

const BATCH_SIZE_MAX = 256;
const WAIT_MAX_MS = 2_000;
const SQL = `select history_refuse($1::text::uuid[], $2::text::uuid[], $3::text::uuid[], $4::text::text[], $5::text::text[],
  $6::text::text[], $7::text::boolean[], $8::text::text[], $9::text::smallint[], $10::text::text[])`;

export function openRateLimitedRequestRecords(options: { pool: pg.Pool; clock: Clock }): RateLimitedRequestRecords {
  const { pool, clock } = options;
  const batcher = new Batcher<RateLimitedRequest, void>(
    async (batch) => {
      await pool.query({ name: "history_refuse", text: SQL, values: parameters(batch) });
      return batch.map(() => undefined);
    },
    { clock, sizeMax: BATCH_SIZE_MAX, waitMaxMs: WAIT_MAX_MS, isConnectionLoss },
  );
  return { record: (refusal) => batcher.add(refusal), idle: () => batcher.idle() };
}

function parameters(batch: RateLimitedRequest[]): string[] {
  return [
    formatUnquotedArray(batch.map((r) => r.id)),
    formatUnquotedArray(batch.map((r) => r.accountId)),
    formatUnquotedArray(batch.map((r) => r.keyId)),
    formatTextArray(batch.map((r) => r.keyName)),
    formatTextArray(batch.map((r) => r.endpoint)),
    formatTextArray(batch.map((r) => r.model)),
    formatUnquotedArray(batch.map((r) => r.stream)),
    formatTextArray(batch.map((r) => r.outcome)),
    formatUnquotedArray(batch.map((r) => r.httpStatus)),
    formatTextArray(batch.map((r) => r.client)),
  ];
}
