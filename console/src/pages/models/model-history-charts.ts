/** Converts a model's past performance to chart data and text. Pure. */
import type { ModelPerformance } from "../../api/answer-types.ts";
import { decimalText, formatMonthDay, formatPercent, formatUtcMonthDay, minuteText } from "../../locale.ts";
import type { ChartProps } from "../../ui/chart/chart-data.ts";
import { formatDurationTick } from "../../ui/chart/tick-labels.ts";

type Point = ModelPerformance["points"][number];
type Lines = Pick<ChartProps, "series" | "rows" | "format" | "unit">;
type Bars = Lines & Pick<ChartProps, "adds">;

/** For example "99.98 %". A share below 100 % is never rounded up to 100 %. */
export function percentText(share: number | null, places = 2): string {
  if (share === null) return "–";
  const factor = 10 ** places;
  return formatPercent(Math.floor(share * 100 * factor + 1e-6) / factor / 100);
}

/** The label of a time slot. Hours are in the reader's time zone, days are in UTC. */
function slotText({ at }: Pick<Point, "at">, slotSeconds: number): string {
  const ms = at * 1000;
  return slotSeconds < 86_400 ? `${formatMonthDay(ms)}, ${minuteText(ms)}` : formatUtcMonthDay(ms);
}

export const firstTokenLines = (performance: ModelPerformance): Lines =>
  linesOf(
    performance,
    { p50: ({ ttft_p50_ms }) => ttft_p50_ms, p95: ({ ttft_p95_ms }) => ttft_p95_ms },
    { format: formatDurationTick, unit: "ms" },
  );

export const speedLines = (performance: ModelPerformance): Lines =>
  linesOf(
    performance,
    { Speed: ({ tokens_per_second }) => tokens_per_second },
    {
      // The axis has a title with the unit, so its marks show only numbers.
      format: (speed, step) => (step === undefined ? `${decimalText(speed)} tokens/s` : decimalText(speed)),
      unit: "tokens/s",
    },
  );

function linesOf(
  { points, slot_seconds }: ModelPerformance,
  values: Record<string, (point: Point) => number | null>,
  written: Pick<Lines, "format" | "unit">,
): Lines {
  const names = Object.entries(values);
  return {
    series: names.map(([name], place) => ({ name, colour: 1 + 2 * place })),
    ...written,
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

const LEVELS = [
  { name: "Available", colour: 2, from: 0.999 },
  { name: "Below 99.9 %", colour: 3, from: 0.95 },
  { name: "Below 95 %", colour: 6, from: 0 },
];

/** One bar for each hour or day, in the color of its availability level. A slot without samples has no bar. */
export function availabilityBars({ points, slot_seconds }: ModelPerformance): Bars {
  const seen = points.filter(({ availability }) => availability !== null);
  return {
    // The legend lists only levels that occur in the bars.
    series: LEVELS.filter((level, place) => place === 0 || seen.some((point) => levelOf(point.availability) === level)),
    format: (share, step) => percentText(share, step === undefined ? 2 : 0),
    unit: "share",
    adds: false,
    rows: points.map((point) => {
      const level = levelOf(point.availability);
      return {
        label: slotText(point, slot_seconds),
        at: point.at * 1000,
        values: level === undefined ? {} : { [level.name]: point.availability ?? 0 },
      };
    }),
  };
}

const levelOf = (availability: number | null) =>
  availability === null ? undefined : LEVELS.find(({ from }) => availability >= from);
