/** Figures from rows: medians over repeats, ratios between targets of the same repeat, and tables of them. */
import type { Payer, Row } from "../measure.ts";

export interface Column {
  title: string;
  /** The cell of one target; its rows, and all rows of the scenario to compare with. */
  cell(own: Row[], all: Row[]): string;
}

export function table(rows: Row[], columns: Column[]): string {
  const names = [...new Set(rows.map((row) => row.target))].sort();
  const lines = [
    ["", ...columns.map(({ title }) => title)],
    ["", ...columns.map(() => "")].map(() => "---"),
    ...names.map((name) => {
      const own = rows.filter((row) => row.target === name);
      return [name, ...columns.map(({ cell }) => cell(own, rows))];
    }),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** A dash where nothing was measured. */
export function median(rows: Row[], figure: (row: Row) => number | undefined, digits: number): string {
  const values = numbers(rows, figure);
  return values.length === 0 ? "–" : middle(values).toFixed(digits);
}

/** The median with the least and the most, where there were several. */
export function spread(rows: Row[], figure: (row: Row) => number | undefined, digits: number): string {
  const values = numbers(rows, figure);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const about = values.length > 1 ? ` (${least.toFixed(digits)}–${most.toFixed(digits)})` : "";
  return `${median(rows, figure, digits)}${about}`;
}

/** How many times another target's figure this one's is, taken repeat by repeat. */
export function timesOf(own: Row[], other: Row[], figure: (row: Row) => number | undefined): string {
  const ratios = own.flatMap((row) => {
    const match = other.find(({ repeat }) => repeat === row.repeat);
    const [a, b] = [figure(row), match === undefined ? undefined : figure(match)];
    return a === undefined || b === undefined || b === 0 ? [] : [a / b];
  });
  return ratios.length === 0 ? "–" : middle(ratios).toFixed(2);
}

export const cpuPerRequestUs =
  (who: Payer) =>
  (row: Row): number | undefined =>
    per(row.cpuUs[who], row.ok);

export const cpuPerEventUs =
  (who: Payer) =>
  (row: Row): number | undefined =>
    per(row.cpuUs[who], row.engineEvents);

export const perRequest = (rows: Row[], who: Payer): string => median(rows, cpuPerRequestUs(who), 0);

export const errorsOf = (rows: Row[]): number =>
  rows.flatMap((row) => Object.values(row.errors)).reduce((sum, count) => sum + count, 0);

function middle(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

function numbers(rows: Row[], figure: (row: Row) => number | undefined): number[] {
  return rows.map(figure).filter((value): value is number => value !== undefined && Number.isFinite(value));
}

function per(us: number | undefined, count: number): number | undefined {
  return us === undefined || count === 0 ? undefined : us / count;
}
