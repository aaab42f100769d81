/** The switch that compares charts with the previous period. That period is loaded when the switch is turned on. */
import { useState } from "react";
import { PREVIOUS_PERIOD_TEXTS, type TimeRange } from "../../time-range.ts";
import type { ChartRow, PreviousPeriod } from "./chart-data.ts";

/**
 * Past figures do not change, so they are loaded once. While they load, no other period's figures are shown instead.
 */
const PAST = { staleTime: Number.POSITIVE_INFINITY, refetchInterval: false, placeholderData: () => undefined } as const;

interface Comparison {
  /** Query options for the previous period. */
  query: typeof PAST & { enabled: boolean };
  of: (rows: ChartRow[] | undefined, error: unknown) => PreviousPeriod;
}

/** `range`: undefined for a time span that the user selected. `ready`: whether the previous period is known yet. */
export function usePreviousPeriod(range: TimeRange | undefined, ready = true): Comparison {
  const [on, turn] = useState(false);
  return {
    query: { ...PAST, enabled: on && ready },
    of: (rows, error) => ({
      words: range === undefined ? "the period before" : PREVIOUS_PERIOD_TEXTS[range],
      on,
      turn,
      rows,
      error,
    }),
  };
}
