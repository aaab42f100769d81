/** The types of a chart's data. */
export interface Series {
  /** The name is also the key of its values. */
  name: string;
  /** A colour of the theme, 1 to 7. */
  colour: number;
}

export interface ChartRow {
  /** The full label, which is unique among the rows. */
  label: string;
  /** The row's time or start in milliseconds; rows are sorted by it. */
  at: number;
  /** Values by series; a missing value is zero in bars and a gap in lines. */
  values: Record<string, number>;
  /** The exact values as text, if numbers are only precise enough for the height of a bar. */
  texts?: Record<string, string>;
}

/** The previous period of the same length, drawn behind the rows for comparison. */
export interface Before {
  /** For example "the 7 days before". */
  words: string;
  on: boolean;
  turn: (on: boolean) => void;
  /** Undefined until loaded. */
  rows: ChartRow[] | undefined;
  error?: unknown;
}

/** Colours are assigned in order; the seventh is for the combined rest. */
export const colourOf = (place: number): number => Math.min(place, 6) + 1;

/** The default height of a chart. */
export const HEIGHT = 240;

export type Kind = "bars" | "lines";

export interface ChartProps {
  /** The chart's content in words: "Spend per day by key". */
  title: string;
  series: Series[];
  rows: ChartRow[];
  kind?: Kind;
  /** Formats a value: on the axis, with the step between marks, and for rows without texts of their own. */
  format: (value: number, step?: number) => string;
  /** The unit of the values, for saved files: "USD", "ms". */
  unit: string;
  /** Values are counts, so there are no marks between whole numbers. */
  whole?: boolean;
  height?: number;
  /** False if the values of a row's bars do not add up, such as shares. */
  adds?: boolean;
  before?: Before;
}

/** The data of a chart's drawing. */
export interface Drawn extends Pick<ChartProps, "series" | "rows" | "format"> {
  kind: Kind;
  whole: boolean;
  height: number;
  /** The names of hidden series. */
  hidden: ReadonlySet<string>;
  /** The previous period, row by row. */
  earlier: ChartRow[] | undefined;
}

/** The sum of a row's bars; lines have no sum. */
export function totalOf({ values }: ChartRow, hidden: ReadonlySet<string>): number {
  let total = 0;
  for (const name in values) if (!hidden.has(name)) total += values[name] as number;
  return total;
}
