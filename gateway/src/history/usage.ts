/** What an account spent, in sums. */
import type { USAGE_BY } from "@tollgate/api/console/money.ts";
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type HourlySum, hourlySums } from "./hourly-sums.ts";
import { type LabelSum, labelSums } from "./labels.ts";

interface UsageQuery {
  by: Exclude<(typeof USAGE_BY)[number], "label">;
  from: Date;
  to: Date;
  /** Splits every bucket further, for stacked charts. */
  split?: "key" | "model" | undefined;
}

export interface Usage {
  sums(accountId: Uuid, query: UsageQuery): Promise<HourlySum[]>;
  byLabel(accountId: Uuid, span: { from: Date; to: Date }): Promise<LabelSum[]>;
  /** Spend per key since a moment. */
  byKey(accountId: Uuid, since: Date): Promise<Map<Uuid, HourlySum>>;
}

export function openUsage({ pool }: { pool: pg.Pool }): Usage {
  const sums: Usage["sums"] = (accountId, query) => hourlySums(pool, "usage", accountId, query);
  return {
    sums,
    byLabel: (accountId, span) => labelSums(pool, accountId, span),
    async byKey(accountId, since) {
      const rows = await sums(accountId, { by: "key", from: since, to: new Date("9999-01-01") });
      return new Map(rows.map((row) => [row.bucket as Uuid, row]));
    },
  };
}
