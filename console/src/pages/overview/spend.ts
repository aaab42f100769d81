/** From the API's sums to the bars of the spend chart. */
import type { UsageRow } from "../../api/types.ts";
import { parseMicro } from "../../money.ts";
import { bucketNames, type Span } from "../../time-range.ts";
import { stacked } from "../../ui/chart/stacked.ts";

export type Split = "model" | "key";

interface StackParts {
  rows: UsageRow[];
  span: Span;
  split: Split;
  /** What stands for a part: a key's name for its id. */
  nameOf: (part: string) => string;
  labelOf: (bucket: string) => string;
}

/** What nothing was spent on has no place in the legend. */
export function stackSpend({ rows, span, split, nameOf, labelOf }: StackParts) {
  const amounts = rows.map((row) => ({
    bucket: row[span.by] ?? "",
    // By name: the playground has a key for each session.
    part: nameOf(row[split] ?? ""),
    pico: parseMicro(row.charge_micro),
  }));
  const spent = amounts.filter(({ pico }) => pico > 0n);
  return stacked({ amounts: spent, buckets: bucketNames(span), nameOf: (name) => name, labelOf, rounding: "up" });
}
