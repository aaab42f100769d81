/** From the API's sums to the bars of the spend chart. */
import type { UsageRow } from "../../api/types.ts";
import { parseMicro } from "../../money.ts";
import { daysBefore, startOfUtcDay } from "../../time.ts";
import { stacked } from "../../ui/chart/stacked.ts";

export type Range = "24h" | "7d" | "30d";
export type Split = "model" | "key";

const HOUR_MS = 3_600_000;

export interface SpendQuery {
  by: "hour" | "day";
  from: Date;
  /** Every bucket of the span, as the API names it. */
  buckets: string[];
}

export function spendQuery(range: Range, nowMs: number): SpendQuery {
  if (range === "24h") {
    const last = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
    const hours = Array.from({ length: 24 }, (_, i) => new Date(last - (23 - i) * HOUR_MS));
    const buckets = hours.map((hour) => `${hour.toISOString().slice(0, 13)}:00:00Z`);
    return { by: "hour", from: hours[0] as Date, buckets };
  }
  const days = range === "7d" ? 7 : 30;
  const today = startOfUtcDay(nowMs);
  const all = Array.from({ length: days }, (_, i) => daysBefore(today, days - 1 - i));
  return { by: "day", from: all[0] as Date, buckets: all.map((day) => day.toISOString().slice(0, 10)) };
}

interface StackParts {
  rows: UsageRow[];
  query: SpendQuery;
  split: Split;
  /** What stands for a part: a key's name for its id. */
  nameOf: (part: string) => string;
  labelOf: (bucket: string) => string;
}

/** What nothing was spent on has no place in the legend. */
export function stackSpend({ rows, query, split, nameOf, labelOf }: StackParts) {
  const amounts = rows.map((row) => ({
    bucket: row[query.by] ?? "",
    part: row[split] ?? "",
    pico: parseMicro(row.charge_micro),
  }));
  const spent = amounts.filter(({ pico }) => pico > 0n);
  return stacked({ amounts: spent, buckets: query.buckets, nameOf, labelOf, rounding: "up" });
}
