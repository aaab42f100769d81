/** The switch that compares charts with the previous period, which is loaded once it is on. */
import { useState } from "react";
import { BEFORE_WORDS, type TimeRange } from "../../time-range.ts";
import type { Before, ChartRow } from "./chart-data.ts";

/** The past does not change, so it is loaded once. Figures of another period are not shown meanwhile. */
const PAST = { staleTime: Number.POSITIVE_INFINITY, refetchInterval: false, placeholderData: () => undefined } as const;

interface Comparison {
  /** Options for the query of the previous period. */
  query: typeof PAST & { enabled: boolean };
  of: (rows: ChartRow[] | undefined, error: unknown) => Before;
}

/** `ready`: whether the end of the previous period is known. */
export function useBefore(range: TimeRange, ready = true): Comparison {
  const [on, turn] = useState(false);
  return {
    query: { ...PAST, enabled: on && ready },
    of: (rows, error) => ({ words: BEFORE_WORDS[range], on, turn, rows, error }),
  };
}
