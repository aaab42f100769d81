/** Sums from the hourly rollups, without scanning requests. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { hasClosedDays, usedIn } from "../db/closed-days.ts";
import { ownHours } from "../db/own-hours.ts";
import { column, queryRows, row } from "../db/rows.ts";

const HourlySum = row({
  /** The key's or node's id, the model, the outcome, or when it begins, in UTC, as text that sorts. */
  bucket: z.string(),
  /** Of what every sum was split by further; null where it was not. */
  part: z.string().nullable(),
  requests: column.count,
  promptTokens: column.count,
  completionTokens: column.count,
  amount: column.pico,
  /** Of earnings: what came from requests of the host's own owners. Null of usage. */
  own: column.pico.nullable(),
});
export type HourlySum = z.infer<typeof HourlySum>;

/** What rows are gathered by, and how it is written: text that sorts as the bucket does. Only sums are written, not rows. */
const BUCKETS = {
  key: { of: "key_id", text: (key: string) => `${key}::text` },
  node: { of: "node_id", text: (node: string) => `${node}::text` },
  model: { of: "model", text: (model: string) => model },
  outcome: { of: "outcome", text: (outcome: string) => outcome },
  day: { of: "date_trunc('day', hour at time zone 'UTC')", text: (day: string) => `to_char(${day}, 'YYYY-MM-DD')` },
  hour: {
    of: "hour",
    text: (hour: string) => `to_char(${hour} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"')`,
  },
};
type Bucket = keyof typeof BUCKETS;

interface HourlySumsQuery {
  by: Bucket;
  split?: Bucket | undefined;
  from: Date;
  to: Date;
  /** Only what this node did; earnings know it. */
  nodeId?: Uuid | undefined;
  /** Only requests with this key; usage knows it. */
  keyId?: Uuid | undefined;
}

/** One answer has no more sums; one more is read, to see that there are. */
export const SUMS_MAX = 100_000;

const ROLLUPS = {
  usage: { amount: "charge_pico", own: "null::numeric" },
  earnings: { amount: "host_pico", own: "sum(own_pico)" },
};

/** `$1` whose, `$2` from, `$3` to. Only hours know hours: sums of a day do not do where sums are by them. */
async function rowsOf(pool: pg.Pool, rollup: keyof typeof ROLLUPS, buckets: (Bucket | undefined)[]): Promise<string> {
  const [from, to] = ["date_trunc('hour', $2::timestamptz)", "$3::timestamptz"];
  if (rollup === "earnings") return `(select * from earning_hour where ${ownHours("host_account_id", from, to)})`;
  return usedIn("own", { from, to }, !buckets.includes("hour") && (await hasClosedDays(pool)));
}

/** Of the whole hours from the one that `from` lies in. */
export async function hourlySums(
  pool: pg.Pool,
  rollup: keyof typeof ROLLUPS,
  accountId: Uuid,
  { by, split, from, to, nodeId, keyId }: HourlySumsQuery,
): Promise<HourlySum[]> {
  const { amount, own } = ROLLUPS[rollup];
  const [bucket, part] = [BUCKETS[by], split === undefined ? undefined : BUCKETS[split]];
  const one = nodeId ?? keyId;
  return await queryRows(
    pool,
    HourlySum,
    `select ${bucket.text("bucket")} as bucket, ${part?.text("part") ?? "null::text"} as part,
            requests::float8 as requests, prompt::float8 as "promptTokens", completion::float8 as "completionTokens",
            amount, own
       from (select ${bucket.of} as bucket, ${part?.of ?? "null::text"} as part, sum(requests) as requests,
                    sum(prompt_tokens) as prompt, sum(completion_tokens) as completion, sum(${amount}) as amount, ${own} as own
               from ${await rowsOf(pool, rollup, [by, split])} rows
              ${one === undefined ? "" : `where ${nodeId === undefined ? "key_id" : "node_id"} = $4`}
              group by 1, 2) sums
      order by 1, 2 limit ${SUMS_MAX + 1}`,
    [accountId, from, to, ...(one === undefined ? [] : [one])],
  );
}
