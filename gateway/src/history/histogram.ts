/**
 * Histograms of milliseconds, as the rollups keep them: one number for each bucket, the bucket in the upper bits and its
 * count in the lower forty. Buckets are those of sql/functions/histogram_bucket.sql: a millisecond each below 128, above at
 * most a 64th wide, so that what is read out of one is right to less than one percent.
 */

/** Both parts together stay below 2^53: the largest bucket is that of 2^31 − 1 milliseconds. */
const COUNTS = 2 ** 40;
const BUCKETS = bucketOf(2 ** 31 - 1) + 1;

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

const COMMA = 44;
const ZERO = 48;

/** Reads the numbers of a histogram, written with commas between them. Digit by digit: there are a hundred thousand in a week's. */
export function parseHistogram(text: string): number[] {
  const numbers: number[] = [];
  let number = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === COMMA) {
      numbers.push(number);
      number = 0;
    } else number = number * 10 + code - ZERO;
  }
  if (text !== "") numbers.push(number);
  return numbers;
}

/**
 * Of all these together, by nearest rank: the smallest value that each share of them, the least first, is not above. Null of nothing.
 * A bucket may come several times, and in any order.
 */
export function percentiles(histograms: readonly (readonly number[])[], shares: readonly number[]): (number | null)[] {
  const counts = new Float64Array(BUCKETS);
  let total = 0;
  for (const histogram of histograms) {
    for (const number of histogram) {
      const bucket = Math.floor(number / COUNTS);
      const count = number - bucket * COUNTS;
      counts[bucket] = (counts[bucket] as number) + count;
      total += count;
    }
  }
  const found: (number | null)[] = shares.map(() => null);
  let [bucket, reached] = [-1, 0];
  for (const [place, share] of shares.entries()) {
    const rank = Math.max(1, Math.ceil(total * share));
    while (reached < rank && bucket < BUCKETS - 1) reached += counts[++bucket] as number;
    if (reached >= rank) found[place] = middleOf(bucket);
  }
  return found;
}
