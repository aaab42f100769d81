/** Whether a series grows: a line through the means of blocks, with the standard error of its slope. */

export interface Line {
  /** Of the blocks. */
  mean: number;
  /** Per hour. */
  slope: number;
  /** The slope's standard error; unknown for too few blocks. */
  error: number;
  blocks: { atH: number; value: number }[];
}

type Trend = "flat" | "grows" | "falls" | "too short";

/** What one value stands for a block: neighbouring samples are no independent ones, blocks nearly are. */
export type Reduce = "mean" | "median" | "least";

const BLOCK_S = 300;
const BLOCKS_MIN = 5;
/** A slope this many standard errors from zero is no chance, and less than this share of the mean in an hour is no growth. */
const ERRORS = 3;
const SHARE_OF_MEAN = 0.01;

export function lineOf(points: readonly { at: number; value: number }[], reduce: Reduce): Line {
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

/** `noise`: a growth in an hour that is none, in the series' own unit. */
export function trendOf({ mean, slope, error, blocks }: Line, noise = 0): Trend {
  if (blocks.length < BLOCKS_MIN) return "too short";
  const isChance = Math.abs(slope) <= ERRORS * error;
  if (isChance || Math.abs(slope) <= Math.max(noise, SHARE_OF_MEAN * Math.abs(mean))) return "flat";
  return slope > 0 ? "grows" : "falls";
}

function reduced(values: number[], reduce: Reduce): number {
  if (reduce === "mean") return average(values);
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[reduce === "least" ? 0 : sorted.length >> 1] ?? Number.NaN;
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
const average = (values: readonly number[]): number => sum(values) / values.length;
