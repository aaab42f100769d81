/** The switch that compares charts with the period before: asked for once it is on. */
import { useState } from "react";
import { BEFORE_WORDS, type TimeRange } from "../../time-range.ts";
import type { Before, ChartRow } from "./chart-data.ts";

/** What is over does not change: it is asked for once. Figures of another period are not shown in its place. */
const PAST = { staleTime: Number.POSITIVE_INFINITY, refetchInterval: false, placeholderData: () => undefined } as const;

interface Comparison {
  /** For the query of the period before, and whether it is asked. */
  query: typeof PAST & { enabled: boolean };
  of: (rows: ChartRow[] | undefined, error: unknown) => Before;
}

/** `ready`: where the period before ends is known. */
export function useBefore(range: TimeRange, ready = true): Comparison {
  const [on, turn] = useState(false);
  return {
    query: { ...PAST, enabled: on && ready },
    of: (rows, error) => ({ words: BEFORE_WORDS[range], on, turn, rows, error }),
  };
}
