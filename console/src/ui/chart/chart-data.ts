/** What a chart is given. */
export interface Series {
  /** Also the key of its values. */
  name: string;
  /** 1 to 7: a colour of the theme. */
  colour: number;
}

export interface ChartRow {
  /** What stands below the axis. */
  label: string;
  /** By series; what is missing is zero. */
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
  /** Values as text: at the axis, and where a row has no texts of its own. */
  format: (value: number) => string;
  /** Counts: no ticks between whole numbers. */
  whole?: boolean;
  height?: number;
}
