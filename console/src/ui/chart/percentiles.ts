/** Converts percentiles over time to chart lines: p50, p95 and p99, with gaps for times without measurements. Pure. */
import type { ChartProps } from "./chart-data.ts";
import { formatBucketTick, formatDurationTick } from "./tick-labels.ts";
import { areUtcMidnights } from "./ticks.ts";

const LINES = [
  { name: "p50", colour: 1 },
  { name: "p95", colour: 3 },
  { name: "p99", colour: 6 },
] as const;

export type Percentiles = { [Name in (typeof LINES)[number]["name"]]: number | null };

/** One entry per time, oldest first. `at` is in milliseconds. `format` formats a value, as milliseconds by default. */
export function percentileLines(
  points: (Percentiles & { at: number })[],
): Pick<ChartProps, "series" | "rows" | "format" | "unit"> {
  const by = areUtcMidnights(points.map(({ at }) => at)) ? "day" : "hour";
  return {
    series: LINES.map(({ name, colour }) => ({ name, colour })),
    format: formatDurationTick,
    unit: "ms",
    rows: points.map((point) => ({
      label: formatBucketTick(by, point.at),
      at: point.at,
      values: Object.fromEntries(
        LINES.flatMap(({ name }) => {
          const value = point[name];
          return value === null ? [] : [[name, value]];
        }),
      ),
    })),
  };
}
