/** Computes the positions of a chart's elements in pixels. Pure. */
import type { ChartKind } from "./chart-data.ts";

/** The area between the axes, where values are drawn. */
export interface PlotArea {
  left: number;
  top: number;
  width: number;
  height: number;
  /** The value at the upper edge; the lower edge is zero. */
  most: number;
}

const BAR_SHARE = 0.8;
const BAR_WIDTH_MAX = 36;

/** The width available for each row. */
export const computeWidthPerRow = ({ width }: PlotArea, rows: number): number => width / Math.max(1, rows);

/** The horizontal middle of each row. Bars are centered in their slots; lines run from edge to edge. */
export function computeRowMiddles(plot: PlotArea, rows: number, kind: ChartKind): number[] {
  const { left, width } = plot;
  const edgeToEdge = kind === "lines" && rows > 1;
  return Array.from({ length: rows }, (_, row) =>
    tidy(edgeToEdge ? left + (row / (rows - 1)) * width : left + (row + 0.5) * computeWidthPerRow(plot, rows)),
  );
}

/** The index of the row nearest to a horizontal position. */
export function findNearestRow(middles: number[], x: number): number {
  let best = 0;
  for (const [row, middle] of middles.entries()) {
    if (Math.abs(middle - x) < Math.abs((middles[best] as number) - x)) best = row;
  }
  return best;
}

export const computeVerticalPosition = ({ top, height, most }: PlotArea, value: number): number =>
  tidy(top + height - (Math.max(0, value) / most) * height);

/** One path per stacked series, because browsers draw one path faster than many bars. */
export function formatBarPaths(plot: PlotArea, rows: number[][]): string[] {
  const middles = computeRowMiddles(plot, rows.length, "bars");
  const width = tidy(Math.min(BAR_WIDTH_MAX, computeWidthPerRow(plot, rows.length) * BAR_SHARE));
  const paths: string[] = [];
  for (const [row, values] of rows.entries()) {
    let below = 0;
    for (const [series, value] of values.entries()) {
      const [bottom, top] = [computeVerticalPosition(plot, below), computeVerticalPosition(plot, below + value)];
      below += value;
      const x = tidy((middles[row] as number) - width / 2);
      const bar = value > 0 ? `M${x},${bottom}V${top}h${width}V${bottom}Z` : "";
      paths[series] = (paths[series] ?? "") + bar;
    }
  }
  return paths;
}

interface Point {
  x: number;
  y: number;
}

interface Line {
  /** The path of the line, and the path of the area below it. */
  stroke: string;
  area: string;
  /** Isolated values between two gaps, drawn as points. */
  lonely: Point[];
}

/** The line of one series; a missing value is a gap. */
export function computeLine(plot: PlotArea, values: (number | undefined)[]): Line {
  const middles = computeRowMiddles(plot, values.length, "lines");
  const floor = computeVerticalPosition(plot, 0);
  const line: Line = { stroke: "", area: "", lonely: [] };
  let run: Point[] = [];
  const close = (): void => {
    const [first, last] = [run[0], run.at(-1)];
    if (run.length === 1 && first !== undefined) line.lonely.push(first);
    else if (first !== undefined && last !== undefined) {
      const points = (run.length > 2 * plot.width ? thinned(run) : run).map(({ x, y }) => `${x},${y}`).join("L");
      line.stroke += `M${points}`;
      line.area += `M${first.x},${floor}L${points}L${last.x},${floor}Z`;
    }
    run = [];
  };
  for (const [row, value] of values.entries()) {
    if (value === undefined) close();
    else run.push({ x: middles[row] as number, y: computeVerticalPosition(plot, value) });
  }
  close();
  return line;
}

/** Reduces points to the first, highest, lowest and last one of each pixel column. */
function thinned(points: Point[]): Point[] {
  const columns = Map.groupBy(points, ({ x }) => Math.floor(x));
  return [...columns.values()].flatMap((column) => {
    const levels = column.map(({ y }) => y);
    const kept = [0, levels.indexOf(Math.min(...levels)), levels.indexOf(Math.max(...levels)), column.length - 1];
    return [...new Set(kept.sort((a, b) => a - b))].map((place) => column[place] as Point);
  });
}

/** The upper edge of the previous period's bars: a step per row, with gaps for missing values. */
export function stepPath(plot: PlotArea, values: (number | undefined)[]): string {
  const room = computeWidthPerRow(plot, values.length);
  return values
    .map((value, row) => {
      if (value === undefined) return "";
      const joint = row === 0 || values[row - 1] === undefined ? `M${tidy(plot.left + row * room)},` : "V";
      return `${joint}${computeVerticalPosition(plot, value)}H${tidy(plot.left + (row + 1) * room)}`;
    })
    .join("");
}

const tidy = (value: number): number => Math.round(value * 100) / 100;
