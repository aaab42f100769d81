/** From the API's sums to the bars of the spend chart: every hour or day of the span, the largest parts, and the rest. */
import type { UsageRow } from "../../api/types.ts";
import { chartDollars, parseMicro, shortDollars } from "../../money.ts";
import { daysBefore, startOfUtcDay } from "../../time.ts";
import { type ChartRow, colourOf, type Series } from "../../ui/chart/chart-data.ts";

export type Range = "24h" | "7d" | "30d";
export type Split = "model" | "key";

const HOUR_MS = 3_600_000;
const PARTS_MAX = 6;
const OTHERS = "Others";

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

export function stackSpend({ rows, query, split, nameOf, labelOf }: StackParts): {
  series: Series[];
  rows: ChartRow[];
} {
  const totals = new Map<string, bigint>();
  for (const row of rows) {
    const part = row[split] ?? "";
    totals.set(part, (totals.get(part) ?? 0n) + parseMicro(row.charge_micro));
  }
  const spentOn = [...totals.entries()].filter(([, amount]) => amount > 0n);
  const largest = spentOn.sort((a, b) => (b[1] > a[1] ? 1 : b[1] < a[1] ? -1 : 0)).map(([part]) => part);
  const named = new Set(largest.slice(0, largest.length > PARTS_MAX ? PARTS_MAX - 1 : PARTS_MAX));
  const seriesName = (part: string): string => (named.has(part) ? nameOf(part) : OTHERS);
  const spent = new Map<string, bigint>();
  for (const row of rows) {
    const at = `${row[query.by] ?? ""}\n${seriesName(row[split] ?? "")}`;
    spent.set(at, (spent.get(at) ?? 0n) + parseMicro(row.charge_micro));
  }
  const names = [...new Set(largest.map(seriesName))];
  return {
    series: names.map((name, i) => ({ name, colour: name === OTHERS ? 7 : colourOf(i) })),
    rows: query.buckets.map((bucket) => {
      const amounts = names.map((name) => [name, spent.get(`${bucket}\n${name}`) ?? 0n] as const);
      return {
        label: labelOf(bucket),
        values: Object.fromEntries(amounts.map(([name, amount]) => [name, chartDollars(amount)])),
        texts: Object.fromEntries(amounts.map(([name, amount]) => [name, shortDollars(amount, "up")])),
      };
    }),
  };
}
