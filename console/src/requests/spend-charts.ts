/** Converts the API's usage sums to the bars of the spend chart. */
import type { UsageRow } from "../api/answer-types.ts";
import { decimalsNeeded, formatColumnDollars, parseMicro, toChartDollars } from "../dollar-amounts.ts";
import { type BucketedSpan, computePreviousSpan, formatBucketNames } from "../time-range.ts";
import type { BarItem } from "../ui/chart/bar-list.tsx";
import { stackAmounts } from "../ui/chart/stack-amounts.ts";

export type SpendSplit = "model" | "key";

interface StackParts {
  rows: UsageRow[];
  span: BucketedSpan;
  split: SpendSplit;
  /** The display name of a stacked part, such as a key's name for its ID. */
  nameOf: (part: string) => string;
  labelOf: (bucket: string) => string;
  /** The rows of the previous period, for comparison. */
  before?: UsageRow[] | undefined;
}

/** Converts the usage sums to stacked bars. The legend omits parts without spending. */
export function stackSpend({ rows, span, split, nameOf, labelOf, before }: StackParts) {
  const period = (of: UsageRow[], buckets: BucketedSpan) => ({
    buckets: formatBucketNames(buckets),
    amounts: of
      .map((row) => ({
        bucket: row[span.by] ?? "",
        // Grouped by name, because the playground has one key per session.
        part: nameOf(row[split] ?? ""),
        pico: parseMicro(row.charge_micro),
      }))
      .filter(({ pico }) => pico > 0n),
  });
  return stackAmounts({
    ...period(rows, span),
    before: before && period(before, computePreviousSpan(span)),
    nameOf: (name) => name,
    labelOf,
  });
}

/** The cost of each model or key, highest first. The displayed amounts add up to the displayed sum. */
export function listSpendParts({ rows, split, nameOf }: Pick<StackParts, "rows" | "split" | "nameOf">): BarItem[] {
  const sums = new Map<string, bigint>();
  for (const row of rows) {
    const part = nameOf(row[split] ?? "");
    sums.set(part, (sums.get(part) ?? 0n) + parseMicro(row.charge_micro));
  }
  const spent = [...sums].filter(([, pico]) => pico > 0n).sort(([, a], [, b]) => (a < b ? 1 : -1));
  const places = decimalsNeeded(sums.values());
  return spent.map(([part, pico]) => ({
    key: part,
    name: part,
    value: toChartDollars(pico),
    text: formatColumnDollars(pico, places),
  }));
}
