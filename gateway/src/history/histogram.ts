/**
 * Histograms of milliseconds, as the rollups keep them: one number for each bucket, the bucket in the upper bits and its
 * count in the lower forty. Buckets are those of sql/functions/histogram_bucket.sql: a millisecond each below 128, above at
 * most a 64th wide, so that what is read out of one is right to less than one percent.
 */

const COUNT_BITS = 40n;
const COUNT_MASK = (1n << COUNT_BITS) - 1n;

/** The bucket that a duration falls into. */
export function bucketOf(ms: number): number {
  if (ms < 64) return Math.max(0, Math.floor(ms));
  const exponent = 31 - Math.clz32(ms);
  return 64 * (exponent - 5) + (ms >> (exponent - 6)) - 64;
}

/** The middle of a bucket. */
export function middleOf(bucket: number): number {
  if (bucket < 128) return bucket;
  const shift = Math.floor(bucket / 64) - 1;
  const smallest = ((bucket % 64) + 64) * 2 ** shift;
  return smallest + Math.floor((2 ** shift - 1) / 2);
}

/** By nearest rank: the smallest value that this share of all is not above. Null of nothing. */
export function percentile(histogram: readonly bigint[], share: number): number | null {
  let total = 0;
  for (const number of histogram) total += Number(number & COUNT_MASK);
  if (total === 0) return null;
  let before = Math.max(1, Math.ceil(total * share));
  for (const number of histogram) {
    before -= Number(number & COUNT_MASK);
    if (before <= 0) return middleOf(Number(number >> COUNT_BITS));
  }
  return null;
}
