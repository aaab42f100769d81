/** Sums from the hourly rollups, without reading request records. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { hasClosedDays, usageRowsSql } from "../db/closed-days.ts";
import { buildOwnerHourlyRowsSql } from "../db/owner-hourly-rows-sql.ts";
import { column, queryRows, row } from "../db/rows.ts";

const HourlySum = row({
  /** The ID of the key or node, the model, the outcome, or the start time in UTC, as text that sorts. */
  bucket: z.string(),
  /** The value by which sums are split further. Null without a split. */
  part: z.string().nullable(),
  requests: column.count,
  promptTokens: column.count,
  completionTokens: column.count,
  amount: column.pico,
  /** For earnings: the part that the host's own owners paid. For usage: null. */
  own: column.pico.nullable(),
});
export type HourlySum = z.infer<typeof HourlySum>;

/**
 * For each grouping: the SQL expression to group by, and its text form for the result, which sorts in the same order.
 * Converting after grouping means one conversion per sum instead of one per row.
 */
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
  /** Limits a query of earnings to this node. */
  nodeId?: Uuid | undefined;
  /** Limits a query of usage to this key. */
  keyId?: Uuid | undefined;
}

/** The most sums in an answer. One more is read to detect that there are more. */
export const HOURLY_SUMS_MAX = 100_000;

const ROLLUPS = {
  usage: { amount: "charge_pico", own: "null::numeric" },
  earnings: { amount: "host_pico", own: "sum(own_pico)" },
};

/**
 * The rows to sum. `$1`: account, `$2`: from, `$3`: to. Sums by hour need the hourly rollup; other sums can use days.
 */
async function rowsOf(pool: pg.Pool, rollup: keyof typeof ROLLUPS, buckets: (Bucket | undefined)[]): Promise<string> {
  const [from, to] = ["date_trunc('hour', $2::timestamptz)", "$3::timestamptz"];
  if (rollup === "earnings")
    return `(select * from earning_hour where ${buildOwnerHourlyRowsSql("host_account_id", from, to)})`;
  return usageRowsSql("own", { from, to }, !buckets.includes("hour") && (await hasClosedDays(pool)));
}

/** Sums over whole hours, starting with the hour that contains `from`. */
export async function readHourlySums(
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
      order by 1, 2 limit ${HOURLY_SUMS_MAX + 1}`,
    [accountId, from, to, ...(one === undefined ? [] : [one])],
  );
}
