/** Percentiles over time as the lines of a chart: p50, p95 and p99, with gaps where nothing was measured. Pure. */
import { minuteText, monthDayText } from "../../locale.ts";
import type { ChartRow, Series } from "./chart-data.ts";
import { spanTick } from "./labels.ts";

const LINES = [
  { name: "p50", colour: 1 },
  { name: "p95", colour: 3 },
  { name: "p99", colour: 6 },
] as const;

export type Percentiles = { [Name in (typeof LINES)[number]["name"]]: number | null };

/** One for each moment, the oldest first; `at` in milliseconds. `format` writes a value, as milliseconds unless told. */
export function percentileLines(
  points: (Percentiles & { at: number })[],
  format: (value: number, step?: number) => string = spanTick,
): { series: Series[]; rows: ChartRow[]; format: (value: number, step?: number) => string } {
  return {
    series: LINES.map(({ name, colour }) => ({ name, colour })),
    format,
    rows: points.map((point) => ({
      label: `${monthDayText(point.at)}, ${minuteText(point.at)}`,
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
