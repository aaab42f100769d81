/** An account's spending by label, from the daily rollup. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { DAY_MS } from "../base/time.ts";
import { hasClosedDays, usageRowsSql } from "../db/closed-days.ts";
import { column, queryRows, row } from "../db/rows.ts";

/** The most labels in an answer, because a builder may use one label per user. */
const LABELS_MAX = 200;

const LabelUsage = row({
  /** Null: the sum of requests without a label and of labels beyond the limit. */
  label: z.string().nullable(),
  requests: column.count,
  promptTokens: column.count,
  completionTokens: column.count,
  charge: column.pico,
});
export type LabelUsage = z.infer<typeof LabelUsage>;

/**
 * Sums the whole UTC days of the span: labels by cost, then everything else as one entry, so that the sums add up to
 * the total.
 */
export async function sumUsageByLabel(
  pool: pg.Pool,
  accountId: Uuid,
  { from, to }: { from: Date; to: Date },
): Promise<LabelUsage[]> {
  const [first, end] = [Math.floor(from.getTime() / DAY_MS), Math.ceil(to.getTime() / DAY_MS)];
  const used = usageRowsSql("own", { from: "$2::timestamptz", to: "$3::timestamptz" }, await hasClosedDays(pool));
  return await queryRows(
    pool,
    LabelUsage,
    `with named as materialized (
       select label, sum(requests) as requests, sum(prompt_tokens) as prompt, sum(completion_tokens) as completion,
              sum(charge_pico) as charge
         from label_day
        where account_id = $1 and day >= ($2::timestamptz at time zone 'UTC')::date
          and day < ($3::timestamptz at time zone 'UTC')::date
        group by label order by charge desc, requests desc, label limit ${LABELS_MAX}
     ), rest as (
       select null::text, a.requests - n.requests, a.prompt - n.prompt, a.completion - n.completion, a.charge - n.charge
         from (select coalesce(sum(requests), 0) as requests, coalesce(sum(prompt_tokens), 0) as prompt,
                      coalesce(sum(completion_tokens), 0) as completion, coalesce(sum(charge_pico), 0) as charge
                 from ${used} used) a,
              (select coalesce(sum(requests), 0) as requests, coalesce(sum(prompt), 0) as prompt,
                      coalesce(sum(completion), 0) as completion, coalesce(sum(charge), 0) as charge from named) n
     )
     select label, requests::float8 as requests, prompt::float8 as "promptTokens", completion::float8 as "completionTokens",
            charge
       from (select * from named union all select * from rest) as sums (label, requests, prompt, completion, charge)
      where requests > 0 order by label is null, charge desc, requests desc, label`,
    [accountId, new Date(first * DAY_MS), new Date(end * DAY_MS)],
  );
}
