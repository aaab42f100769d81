/** The total in a chart's heading: "$4.20 in the last 7 days". */
import type { ReactNode } from "react";
import { RANGE_TEXTS, type TimeRange } from "../../time-range.ts";

export const RangeSum = ({ range, children }: { range: TimeRange; children: ReactNode }) => (
  <p className="mb-3 text-ink-soft">
    <span className="text-lg font-semibold text-ink">{children}</span> in {RANGE_TEXTS[range]}
  </p>
);
