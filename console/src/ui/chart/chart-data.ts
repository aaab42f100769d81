/** The types of a chart's data. */
export interface Series {
  /** Also the key of its values. */
  name: string;
  /** 1 to 7: a colour of the theme. */
  colour: number;
}

export interface ChartRow {
  /** What it is called, whole; no two rows have the same. */
  label: string;
  /** The moment it stands for or begins with, in milliseconds; rows are in its order. */
  at: number;
  /** By series; what is missing is zero in bars, a gap in lines. */
  values: Record<string, number>;
  /** The same to read, where a number is only good enough for the height of a bar. */
  texts?: Record<string, string>;
}

/** The period before, of the same length: drawn behind the rows, each at the place of the row that it is compared with. */
export interface Before {
  /** "the 7 days before". */
  words: string;
  on: boolean;
  turn: (on: boolean) => void;
  /** Undefined while it is not known. */
  rows: ChartRow[] | undefined;
  error?: unknown;
}

/** Colours are assigned in order; the seventh is for the combined rest. */
export const colourOf = (place: number): number => Math.min(place, 6) + 1;

/** Where a chart says nothing else. */
export const HEIGHT = 240;

export type Kind = "bars" | "lines";

export interface ChartProps {
  /** What is seen, in words: "Spend per day by key". */
  title: string;
  series: Series[];
  rows: ChartRow[];
  kind?: Kind;
  /** Values as text: at the axis, where the step between its marks is told, and where a row has no texts of its own. */
  format: (value: number, step?: number) => string;
  /** What its values are counted in, for those who read them in a file: "USD", "ms". */
  unit: string;
  /** Counts: no ticks between whole numbers. */
  whole?: boolean;
  height?: number;
  /** False: what its bars stand for does not add up, as shares do not. */
  adds?: boolean;
  before?: Before;
}

/** What is drawn of a chart. */
export interface Drawn extends Pick<ChartProps, "series" | "rows" | "format"> {
  kind: Kind;
  whole: boolean;
  height: number;
  /** Series that are switched off. */
  hidden: ReadonlySet<string>;
  /** The period before, row for row. */
  earlier: ChartRow[] | undefined;
}

/** What a row of bars adds up to; of lines, nothing does. */
export function totalOf({ values }: ChartRow, hidden: ReadonlySet<string>): number {
  let total = 0;
  for (const name in values) if (!hidden.has(name)) total += values[name] as number;
  return total;
}
