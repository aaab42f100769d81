/**
 * Computes the published figures from the measured rows: processor time per request or event, and medians of repeats.
 */
import type { CpuConsumer, ResultRow } from "./measure-target.ts";

export type FigureDefinition = (row: ResultRow) => number | undefined;

export const computeCpuPerRequestUs =
  (who: CpuConsumer): FigureDefinition =>
  (row) =>
    divideIfMeasured(row.cpuUs[who], row.ok);

export const computeCpuPerEventUs =
  (who: CpuConsumer): FigureDefinition =>
  (row) =>
    divideIfMeasured(row.cpuUs[who], row.engineEvents);

export const microsecondsToMilliseconds =
  (figure: FigureDefinition): FigureDefinition =>
  (row) => {
    const us = figure(row);
    return us === undefined ? undefined : us / 1000;
  };

/** The average number of processors that other processes and other virtual machines on the hardware used. */
export const processorsUsedByOthers: FigureDefinition = ({ cpuUs, wallUs }) =>
  ((cpuUs.other ?? 0) + (cpuUs.stolen ?? 0)) / wallUs;

/** Returns the median of a figure over the rows; undefined if no row has the figure. */
export function computeMedianFigure(rows: ResultRow[], figure: FigureDefinition): number | undefined {
  const values = figureValues(rows, figure);
  return values.length === 0 ? undefined : medianOfNumbers(values);
}

export function figureValues(rows: ResultRow[], figure: FigureDefinition): number[] {
  return rows.map(figure).filter((value): value is number => typeof value === "number" && Number.isFinite(value));
}

export function medianOfNumbers(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

export const countErrors = (rows: ResultRow[]): number =>
  rows.flatMap((row) => Object.values(row.errors)).reduce((sum, count) => sum + count, 0);

export function divideIfMeasured(us: number | undefined, count: number): number | undefined {
  return us === undefined || count === 0 ? undefined : us / count;
}
