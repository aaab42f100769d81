/** The types of a chart's data. */
import type { ReactNode } from "react";
import type { ZoomedTimes } from "./zoom.ts";

export interface Series {
  /** The series' name, which is also the key of its values. */
  name: string;
  /** The number of a theme color, from 1 to 7. */
  colour: number;
}

export interface ChartRow {
  /** The full label, which is unique among the rows. */
  label: string;
  /** The row's time, or the start of its period, in milliseconds. Rows are sorted by it. */
  at: number;
  /** Values by series name. A missing value is zero in bars and a gap in lines. */
  values: Record<string, number>;
  /** The exact values as text. Set if the numbers are rounded and serve only for the height of a bar. */
  texts?: Record<string, string>;
}

/** The previous period of the same length, drawn behind the current rows for comparison. */
export interface PreviousPeriod {
  /** The previous period in words, for example "the 7 days before". */
  words: string;
  on: boolean;
  turn: (on: boolean) => void;
  /** The rows of the previous period; undefined until loaded. */
  rows: ChartRow[] | undefined;
  error?: unknown;
}

/** Colors are assigned in order. All series from the seventh on share the last color. */
export const chooseSeriesColour = (place: number): number => Math.min(place, 6) + 1;

/** The default height of a chart in pixels. */
export const CHART_HEIGHT = 240;

export type ChartKind = "bars" | "lines";

export interface ChartProps {
  /** The chart's content in words: "Spend per day by key". */
  title: string;
  series: Series[];
  rows: ChartRow[];
  kind?: ChartKind;
  /**
   * Formats a value. On the axis, `step` is the distance between marks. Rows with `texts` are not formatted by this
   * function.
   */
  format: (value: number, step?: number) => string;
  /** The unit of the values, for saved files: "USD", "ms". */
  unit: string;
  /** Whether values are counts, so that the axis has marks only at whole numbers. */
  whole?: boolean;
  height?: number;
  /** False if the values of a row's bars must not be summed, for example because they are shares. */
  adds?: boolean;
  before?: PreviousPeriod;
  /**
   * For a page that loads less when the user selects a time span: selecting calls this with the times of the first and
   * the last selected row, and the chart itself does not zoom.
   */
  onNarrow?: (selected: ZoomedTimes) => void;
  /** Replaces the legend, for example by one whose entries filter the page. */
  legend?: ReactNode;
}

/** The properties of a chart that drawing needs, with the defaults filled in. */
export interface DrawingInput extends Pick<ChartProps, "series" | "rows" | "format"> {
  kind: ChartKind;
  whole: boolean;
  height: number;
  /** The names of hidden series. */
  hidden: ReadonlySet<string>;
  /** The rows of the previous period, in the order of the current rows. */
  earlier: ChartRow[] | undefined;
}

/** The sum of a row's visible bars. Lines have no sum. */
export function sumVisibleValues({ values }: ChartRow, hidden: ReadonlySet<string>): number {
  let total = 0;
  for (const name in values) if (!hidden.has(name)) total += values[name] as number;
  return total;
}

/** One row with the sums of several, for a selection of bars. */
export function sumRows(rows: ChartRow[]): ChartRow | undefined {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined || rows.length === 1) return first;
  const values: Record<string, number> = {};
  for (const row of rows) {
    for (const name in row.values) values[name] = (values[name] ?? 0) + (row.values[name] as number);
  }
  return { label: `${first.label} – ${last.label}`, at: first.at, values };
}
