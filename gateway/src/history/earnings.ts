/** What hosts earned, request by request and in sums. Sums come from the hourly rollup, lines from the records. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";

export interface EarningLine {
  id: Uuid;
  nodeId: Uuid | null;
  model: string | null;
  outcome: string;
  promptTokens: number;
  completionTokens: number;
  earned: Pico;
  finishedAt: Date;
}

export interface EarningSum {
  requests: number;
  promptTokens: number;
  completionTokens: number;
  earned: Pico;
}

export interface Span {
  nodeId?: Uuid | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

export interface Earnings {
  /** The requests that earned, newest first; `before` continues a page. */
  lines(hostAccountId: Uuid, span: Span & { before?: Uuid | undefined; limit: number }): Promise<EarningLine[]>;
  /** Of the whole hours that begin within the span. */
  sum(hostAccountId: Uuid, span: Span): Promise<EarningSum>;
}

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export function openEarnings({ pool }: { pool: pg.Pool }): Earnings {
  return {
    async lines(hostAccountId, { nodeId, from, to, before, limit }) {
      // Ids are time: the span is a range of the index.
      const { rows } = await pool.query(
        `select id, node_id as "nodeId", model, outcome, prompt_tokens as "promptTokens",
                completion_tokens as "completionTokens", host_pico as earned, finished_at as "finishedAt"
           from request
          where host_account_id = $1 and id < $2
            and ($3::timestamptz is null or id >= uuid_floor($3)) and ($4::timestamptz is null or id < uuid_floor($4))
            and ($5::uuid is null or node_id = $5)
          order by id desc limit $6`,
        [hostAccountId, before ?? LAST_ID, from ?? null, to ?? null, nodeId ?? null, limit],
      );
      return rows.map((row) => ({ ...row, earned: pico(BigInt(row.earned)) }));
    },
    async sum(hostAccountId, { nodeId, from, to }) {
      const { rows } = await pool.query(
        `select coalesce(sum(requests), 0) as requests, coalesce(sum(prompt_tokens), 0) as prompt,
                coalesce(sum(completion_tokens), 0) as completion, coalesce(sum(host_pico), 0) as earned
           from earning_hour
          where host_account_id = $1 and ($2::timestamptz is null or hour >= $2) and ($3::timestamptz is null or hour < $3)
            and ($4::uuid is null or node_id = $4)`,
        [hostAccountId, from ?? null, to ?? null, nodeId ?? null],
      );
      const { requests, prompt, completion, earned } = rows[0];
      return {
        requests: Number(requests),
        promptTokens: Number(prompt),
        completionTokens: Number(completion),
        earned: pico(BigInt(earned)),
      };
    },
  };
}
