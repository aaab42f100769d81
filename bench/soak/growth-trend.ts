/**
 * Decides whether a series grows: fits a line through the values of 5-minute blocks, and compares its slope with the
 * standard error.
 */

export interface FittedLine {
  /** The mean of the values of all 5-minute blocks. */
  mean: number;
  /** The slope per hour. */
  slope: number;
  /** The standard error of the slope; not meaningful for very few blocks. */
  error: number;
  blocks: { atH: number; value: number }[];
}

type Trend = "flat" | "grows" | "falls" | "too short";

/**
 * How the samples of a block are reduced to one value. Neighbouring samples depend on each other; blocks are nearly
 * independent.
 */
export type BlockStatistic = "mean" | "median" | "least";

const BLOCK_S = 300;
const BLOCKS_MIN = 5;
/**
 * A slope counts only if it exceeds `ERRORS` standard errors, and its change per hour exceeds `SHARE_OF_MEAN` of the
 * mean.
 */
const ERRORS = 3;
const SHARE_OF_MEAN = 0.01;

export function fitLine(points: readonly { at: number; value: number }[], reduce: BlockStatistic): FittedLine {
  const byBlock = Map.groupBy(
    points.filter(({ value }) => Number.isFinite(value)),
    ({ at }) => Math.floor(at / BLOCK_S),
  );
  const blocks = [...byBlock.values()].map((members) => ({
    atH: average(members.map(({ at }) => at)) / 3600,
    value: reduced(
      members.map(({ value }) => value),
      reduce,
    ),
  }));
  const mean = average(blocks.map(({ value }) => value));
  const middle = average(blocks.map(({ atH }) => atH));
  const spread = sum(blocks.map(({ atH }) => (atH - middle) ** 2));
  const slope = sum(blocks.map(({ atH, value }) => (atH - middle) * (value - mean))) / spread;
  const left = sum(blocks.map(({ atH, value }) => (value - mean - slope * (atH - middle)) ** 2));
  const error = Math.sqrt(left / Math.max(1, blocks.length - 2) / spread);
  return { mean, slope, error, blocks };
}

/**
 * Returns whether the line grows. `noise`: a change per hour up to this amount does not count, in the unit of the
 * series.
 */
export function classifyTrend({ mean, slope, error, blocks }: FittedLine, noise = 0): Trend {
  if (blocks.length < BLOCKS_MIN) return "too short";
  const isChance = Math.abs(slope) <= ERRORS * error;
  if (isChance || Math.abs(slope) <= Math.max(noise, SHARE_OF_MEAN * Math.abs(mean))) return "flat";
  return slope > 0 ? "grows" : "falls";
}

function reduced(values: number[], reduce: BlockStatistic): number {
  if (reduce === "mean") return average(values);
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[reduce === "least" ? 0 : sorted.length >> 1] ?? Number.NaN;
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
const average = (values: readonly number[]): number => sum(values) / values.length;
