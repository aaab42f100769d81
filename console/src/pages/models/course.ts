/** How a model did over time, as charts and words show it. Pure. */
import type { ModelPerformance } from "../../api/types.ts";
import { decimalText, minuteText, monthDayText, shareText, utcMonthDayText } from "../../locale.ts";
import type { ChartProps } from "../../ui/chart/chart-data.ts";
import { spanTick } from "../../ui/chart/labels.ts";

type Point = ModelPerformance["points"][number];
type Lines = Pick<ChartProps, "series" | "rows" | "format">;

/** "99.98 %"; what is less than whole is never shown as whole. */
export function percentText(share: number | null, places = 2): string {
  if (share === null) return "–";
  const factor = 10 ** places;
  return shareText(Math.floor(share * 100 * factor + 1e-6) / factor / 100);
}

/** Hours are the reader's own; days are the platform's, in UTC. */
export function slotText({ at }: Pick<Point, "at">, slotSeconds: number): string {
  const ms = at * 1000;
  return slotSeconds < 86_400 ? `${monthDayText(ms)}, ${minuteText(ms)}` : utcMonthDayText(ms);
}

export const firstTokenLines = (performance: ModelPerformance): Lines =>
  linesOf(performance, { p50: ({ ttft_p50_ms }) => ttft_p50_ms, p95: ({ ttft_p95_ms }) => ttft_p95_ms }, spanTick);

export const speedLines = (performance: ModelPerformance): Lines =>
  linesOf(
    performance,
    { Speed: ({ tokens_per_second }) => tokens_per_second },
    // The axis stands below these words.
    (speed, step) => (step === undefined ? `${decimalText(speed)} tokens/s` : decimalText(speed)),
  );

function linesOf(
  { points, slot_seconds }: ModelPerformance,
  values: Record<string, (point: Point) => number | null>,
  format: Lines["format"],
): Lines {
  const names = Object.entries(values);
  return {
    series: names.map(([name], place) => ({ name, colour: 1 + 2 * place })),
    format,
    rows: points.map((point) => ({
      label: slotText(point, slot_seconds),
      at: point.at * 1000,
      values: Object.fromEntries(
        names.flatMap(([name, of]) => {
          const value = of(point);
          return value === null ? [] : [[name, value]];
        }),
      ),
    })),
  };
}

/** How well it was there: the look of its bar. */
export function levelOf(availability: number | null): "none" | "good" | "fair" | "bad" {
  if (availability === null) return "none";
  if (availability >= 0.999) return "good";
  return availability >= 0.95 ? "fair" : "bad";
}

/** The slots that were not whole, in words, for those who cannot see the bars. */
export function gapsText({ points, slot_seconds }: ModelPerformance): string {
  const known = points.filter(({ availability }) => availability !== null);
  if (known.length === 0) return "Not measured yet.";
  const unit = slot_seconds < 86_400 ? "hours" : "days";
  const short = known.filter(({ availability }) => availability !== null && availability < 1);
  if (short.length === 0) return `Available in all ${known.length} ${unit} measured.`;
  const worst = short
    .toSorted((a, b) => (a.availability ?? 1) - (b.availability ?? 1))
    .slice(0, 5)
    .map((point) => `${slotText(point, slot_seconds)}: ${percentText(point.availability)}`);
  return `Below 100 % in ${short.length} of ${known.length} ${unit} measured. Lowest: ${worst.join("; ")}.`;
}
