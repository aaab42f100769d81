/** What a chart is given. */
export interface Series {
  /** Also the key of its values. */
  name: string;
  /** 1 to 7: a colour of the theme. */
  colour: number;
}

export interface ChartRow {
  /** What it is called, whole; no two rows have the same. */
  label: string;
  /** The moment it stands for or begins with, in milliseconds: the axis then has its marks at round hours and days. */
  at?: number;
  /** By series; what is missing is zero in bars, a gap in lines. */
  values: Record<string, number>;
  /** The same to read, where a number is only good enough for the height of a bar. */
  texts?: Record<string, string>;
}

/** Colours are dealt out in order; the seventh is what is left over. */
export const colourOf = (place: number): number => Math.min(place, 6) + 1;

export interface ChartProps {
  /** What is seen, in words: "Spend per day by key". */
  title: string;
  series: Series[];
  rows: ChartRow[];
  kind?: "bars" | "lines";
  /** Values as text: at the axis, where the step between its marks is told, and where a row has no texts of its own. */
  format: (value: number, step?: number) => string;
  /** Counts: no ticks between whole numbers. */
  whole?: boolean;
  height?: number;
}
