/** Computes the published figures from measured rows: processor time per request or event, and medians of repeats. */
import type { Payer, Row } from "./measure.ts";

export type Figure = (row: Row) => number | undefined;

export const cpuPerRequestUs =
  (who: Payer): Figure =>
  (row) =>
    per(row.cpuUs[who], row.ok);

export const cpuPerEventUs =
  (who: Payer): Figure =>
  (row) =>
    per(row.cpuUs[who], row.engineEvents);

export const inMs =
  (figure: Figure): Figure =>
  (row) => {
    const us = figure(row);
    return us === undefined ? undefined : us / 1000;
  };

/** How many processors were taken by other processes and by other guests of the machine. */
export const takenByOthers: Figure = ({ cpuUs, wallUs }) => ((cpuUs.other ?? 0) + (cpuUs.stolen ?? 0)) / wallUs;

/** Undefined if nothing was measured. */
export function medianOf(rows: Row[], figure: Figure): number | undefined {
  const values = numbers(rows, figure);
  return values.length === 0 ? undefined : middle(values);
}

export function numbers(rows: Row[], figure: Figure): number[] {
  return rows.map(figure).filter((value): value is number => typeof value === "number" && Number.isFinite(value));
}

export function middle(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

export const errorsOf = (rows: Row[]): number =>
  rows.flatMap((row) => Object.values(row.errors)).reduce((sum, count) => sum + count, 0);

export function per(us: number | undefined, count: number): number | undefined {
  return us === undefined || count === 0 ? undefined : us / count;
}
