/** Converts the platform's figures over time to chart lines. Pure. */
import type { PlatformPerformance } from "../../../api/answer-types.ts";
import { decimalText, formatPercent } from "../../../locale.ts";
import type { ChartRow } from "../../../ui/chart/chart-data.ts";
import { formatBucketTick, formatDurationTick } from "../../../ui/chart/tick-labels.ts";

type Load = PlatformPerformance["series"][number];
const DAY_S = 86_400;

interface Figure {
  name: string;
  colour: number;
  of: (load: Omit<Load, "at">) => number | null;
  /** Formats a value; on an axis, `step` is the distance between marks. */
  text: (value: number, step?: number) => string;
  unit: string;
}

const UNITS = [
  { seconds: 1, name: "s" },
  { seconds: 60, name: "min" },
];
const HOUR = { seconds: 3600, name: "h" };

/** The figures to draw. On a quiet platform, the request rate is per minute or per hour instead of per second. */
export function listChartFigures({ total }: Pick<PlatformPerformance, "total">): Figure[] {
  const unit = UNITS.find(({ seconds }) => (total.rate_per_s ?? 0) * seconds >= 1) ?? HOUR;
  return [
    {
      name: "Request rate",
      colour: 1,
      of: ({ rate_per_s }) => (rate_per_s === null ? null : rate_per_s * unit.seconds),
      text: (value) => `${decimalText(value)}/${unit.name}`,
      unit: `requests/${unit.name}`,
    },
    { name: "Errors", colour: 6, of: ({ error_share }) => error_share, text: formatPercent, unit: "share" },
    { name: "First token, p95", colour: 3, of: ({ ttft_p95_ms }) => ttft_p95_ms, text: formatDurationTick, unit: "ms" },
    { name: "Slots in use", colour: 2, of: ({ busy_share }) => busy_share, text: formatPercent, unit: "share" },
  ];
}

/** Converts a figure's time series to chart rows. A time slot without a value becomes a gap in the chart. */
export function toFigureRows(
  { series, slot_s }: Pick<PlatformPerformance, "series" | "slot_s">,
  figure: Figure,
): ChartRow[] {
  return series.map((load) => {
    const value = figure.of(load);
    return {
      label: formatBucketTick(slot_s === DAY_S ? "day" : "hour", load.at * 1000),
      at: load.at * 1000,
      values: value === null ? {} : { [figure.name]: value },
    };
  });
}
