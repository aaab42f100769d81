/** Sums of an account's spending. */
import type { USAGE_GROUPINGS } from "@tollgate/api/console/balance-and-usage.ts";
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import { DAY_MS } from "../base/time.ts";
import { buildOwnerHourlyRowsSql } from "../db/owner-hourly-rows-sql.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";
import { type HourlySum, readHourlySums } from "./hourly-sums.ts";
import { type LabelUsage, sumUsageByLabel } from "./usage-by-label.ts";

interface UsageQuery {
  by: Exclude<(typeof USAGE_GROUPINGS)[number], "label">;
  from: Date;
  to: Date;
  /** Splits every bucket further, for stacked charts. */
  split?: "key" | "model" | undefined;
  /** Only requests with this key. */
  keyId?: Uuid | undefined;
}

const KeyName = row({ id: column.uuid, name: z.string() });
const Burn = row({ day: column.pico, week: column.pico });

/**
 * The spending of the last day and week, and the spending per day: the week's mean, or the last day's if that is
 * higher.
 */
type Burn = z.infer<typeof Burn> & { perDay: Pico };

const DAYS_OF_WEEK = 7n;

export interface UsageHistory {
  /** The spending in the 24 hours and the seven days up to now, by whole hours. */
  burn(accountId: Uuid, now: number): Promise<Burn>;
  sums(accountId: Uuid, query: UsageQuery): Promise<HourlySum[]>;
  byLabel(accountId: Uuid, span: { from: Date; to: Date }): Promise<LabelUsage[]>;
  /** The names of all keys that the account ever had. */
  keyNames(accountId: Uuid): Promise<Map<Uuid, string>>;
  /** The spending per key since this time. */
  byKey(accountId: Uuid, since: Date): Promise<Map<Uuid, HourlySum>>;
}

export function openUsageHistory({ pool }: { pool: pg.Pool }): UsageHistory {
  const sums: UsageHistory["sums"] = (accountId, query) => readHourlySums(pool, "usage", accountId, query);
  return {
    sums,
    async burn(accountId, now) {
      const { day, week } = await queryOne(
        pool,
        Burn,
        `select coalesce(sum(charge_pico) filter (where hour >= date_trunc('hour', $2::timestamptz)), 0) as day,
                coalesce(sum(charge_pico), 0) as week
           from usage_hour where ${buildOwnerHourlyRowsSql("account_id", "date_trunc('hour', $3::timestamptz)", "'infinity'")}`,
        [accountId, new Date(now - DAY_MS), new Date(now - Number(DAYS_OF_WEEK) * DAY_MS)],
      );
      // Rounded up, so that credit does not seem to last longer than it will.
      const mean = (week + DAYS_OF_WEEK - 1n) / DAYS_OF_WEEK;
      return { day, week, perDay: pico(day > mean ? day : mean) };
    },
    byLabel: (accountId, span) => sumUsageByLabel(pool, accountId, span),
    async keyNames(accountId) {
      const keys = await queryRows(pool, KeyName, "select id, name from api_key where account_id = $1", [accountId]);
      return new Map(keys.map(({ id, name }) => [id, name]));
    },
    async byKey(accountId, since) {
      const rows = await sums(accountId, { by: "key", from: since, to: new Date("9999-01-01") });
      return new Map(rows.map((row) => [row.bucket as Uuid, row]));
    },
  };
}
