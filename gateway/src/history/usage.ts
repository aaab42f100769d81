/** What an account spent, in sums, from the hourly rollup: never by scanning requests. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";

export const USAGE_BY = ["key", "model", "day", "hour", "outcome"] as const;
export type UsageBy = (typeof USAGE_BY)[number];

export interface UsageRow {
  /** The key's id, the model, or the time the bucket begins. */
  bucket: string;
  requests: number;
  promptTokens: number;
  completionTokens: number;
  charge: Pico;
}

export interface UsageQuery {
  by: UsageBy;
  from: Date;
  to: Date;
  /** Splits every bucket further, for stacked charts. */
  split?: "key" | "model" | undefined;
}

export interface Usage {
  sums(accountId: Uuid, query: UsageQuery): Promise<(UsageRow & { part: string | null })[]>;
  /** Spend per key since a moment. */
  byKey(accountId: Uuid, since: Date): Promise<Map<Uuid, UsageRow>>;
}

/** What rows are gathered by, and how it is written: text that sorts as the bucket does. Only sums are written, not rows. */
const BUCKETS: Record<UsageBy, { of: string; text: (bucket: string) => string }> = {
  key: { of: "key_id", text: (key) => `${key}::text` },
  model: { of: "model", text: (model) => model },
  outcome: { of: "outcome", text: (outcome) => outcome },
  day: { of: "date_trunc('day', hour at time zone 'UTC')", text: (day) => `to_char(${day}, 'YYYY-MM-DD')` },
  hour: {
    of: "hour",
    text: (hour) => `to_char(${hour} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"')`,
  },
};

export function openUsage({ pool }: { pool: pg.Pool }): Usage {
  const sums: Usage["sums"] = async (accountId, { by, from, to, split }) => {
    const [bucket, part] = [BUCKETS[by], split === undefined ? undefined : BUCKETS[split]];
    const { rows } = await pool.query(
      `select ${bucket.text("bucket")} as bucket, ${part?.text("part") ?? "null::text"} as part, requests, prompt, completion,
              charge
         from (select ${bucket.of} as bucket, ${part?.of ?? "null::text"} as part, sum(requests) as requests,
                      sum(prompt_tokens) as prompt, sum(completion_tokens) as completion, sum(charge_pico) as charge
                 from usage_hour where account_id = $1 and hour >= date_trunc('hour', $2::timestamptz) and hour < $3
                group by 1, 2) sums
        order by 1, 2`,
      [accountId, from, to],
    );
    return rows.map(({ requests, prompt, completion, charge, ...of }) => ({
      bucket: of.bucket,
      part: of.part,
      requests: Number(requests),
      promptTokens: Number(prompt),
      completionTokens: Number(completion),
      charge: pico(BigInt(charge)),
    }));
  };
  return {
    sums,
    async byKey(accountId, since) {
      const rows = await sums(accountId, { by: "key", from: since, to: new Date("9999-01-01") });
      return new Map(rows.map((row) => [row.bucket as Uuid, row]));
    },
  };
}
