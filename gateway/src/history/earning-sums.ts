/** What a host earned by the day or the hour, from the hourly rollup: never by scanning requests. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";

export const EARNINGS_BY = ["day", "hour"] as const;
export const EARNINGS_SPLIT = ["node", "model"] as const;

export interface EarningSumsQuery {
  by: (typeof EARNINGS_BY)[number];
  /** Splits every sum further, for stacked charts. */
  split?: (typeof EARNINGS_SPLIT)[number] | undefined;
  nodeId?: Uuid | undefined;
  from: Date;
  to: Date;
}

export interface EarningSumRow {
  /** When it begins, in UTC, as text that sorts. */
  bucket: string;
  /** The node's id or the model; null where nothing was split. */
  part: string | null;
  requests: number;
  promptTokens: number;
  completionTokens: number;
  earned: Pico;
}

export type EarningSums = (hostAccountId: Uuid, query: EarningSumsQuery) => Promise<EarningSumRow[]>;

const BUCKETS = {
  day: `to_char(hour at time zone 'UTC', 'YYYY-MM-DD')`,
  hour: `to_char(hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"')`,
};
const PARTS = { node: "node_id::text", model: "model" };

export function openEarningSums({ pool }: { pool: pg.Pool }): EarningSums {
  return async (hostAccountId, { by, split, nodeId, from, to }) => {
    const { rows } = await pool.query(
      `select ${BUCKETS[by]} as bucket, ${split === undefined ? "null::text" : PARTS[split]} as part,
              sum(requests) as requests, sum(prompt_tokens) as prompt, sum(completion_tokens) as completion,
              sum(host_pico) as earned
         from earning_hour
        where host_account_id = $1 and hour >= date_trunc('hour', $2::timestamptz) and hour < $3
          and ($4::uuid is null or node_id = $4)
        group by 1, 2 order by 1, 2`,
      [hostAccountId, from, to, nodeId ?? null],
    );
    return rows.map(({ bucket, part, requests, prompt, completion, earned }) => ({
      bucket,
      part,
      requests: Number(requests),
      promptTokens: Number(prompt),
      completionTokens: Number(completion),
      earned: pico(BigInt(earned)),
    }));
  };
}
