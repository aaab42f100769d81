/**
 * Histograms of milliseconds, as the rollups keep them: one number for each bucket, the bucket in the upper bits and its
 * count in the lower forty. Buckets are those of sql/functions/histogram_bucket.sql: a millisecond each below 128, above at
 * most a 64th wide, so that what is read out of one is right to less than one percent.
 */

/** Which buckets there are and how many are in each; of several together a bucket may come several times, and in any order. */
export interface Histogram {
  buckets: Uint16Array;
  counts: Float64Array;
}

/** The largest bucket is that of 2^31 − 1 milliseconds. */
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

/** Of an array as the server sends it in binary: its dimensions, whether it has nulls, its type; then, of one dimension, two numbers more. */
const HEAD_BYTES = 12;
const DIMENSION_BYTES = 8;
/** Each number has its length before it. */
const LENGTH_BYTES = 4;
const NUMBER_BYTES = 8;

/**
 * Reads the numbers of histograms: arrays of `bigint` in the server's binary form (`array_send`), one after the other. There
 * are a million in a week's, and to write them as digits and read them again takes several times as long.
 */
export function readHistograms(bytes: Buffer): Histogram {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { buckets, counts } = roomFor(Math.ceil(bytes.length / (LENGTH_BYTES + NUMBER_BYTES)));
  let read = 0;
  for (let at = 0; at < bytes.length; ) {
    const isEmpty = view.getInt32(at) === 0;
    at += HEAD_BYTES;
    if (isEmpty) continue;
    const end = read + view.getInt32(at);
    at += DIMENSION_BYTES;
    for (; read < end; at += LENGTH_BYTES + NUMBER_BYTES) {
      const upper = view.getUint32(at + LENGTH_BYTES);
      buckets[read] = upper >>> 8;
      counts[read++] = (upper & 0xff) * 2 ** 32 + view.getUint32(at + LENGTH_BYTES + 4);
    }
  }
  return { buckets: buckets.subarray(0, read), counts: counts.subarray(0, read) };
}

const roomFor = (numbers: number): Histogram => ({
  buckets: new Uint16Array(numbers),
  counts: new Float64Array(numbers),
});

const PACKED_BYTES = 6;

/** Reads histograms of closed days: of each bucket its number in two bytes and its count in four. */
export function readPacked(bytes: Buffer): Histogram {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { buckets, counts } = roomFor(bytes.length / PACKED_BYTES);
  for (let i = 0, at = 0; i < buckets.length; i++, at += PACKED_BYTES) {
    buckets[i] = view.getUint16(at);
    counts[i] = view.getUint32(at + 2);
  }
  return { buckets, counts };
}

/** Of all these together, by nearest rank: the smallest value that each share of them, the least first, is not above. Null of nothing. */
export function percentiles(histograms: readonly Histogram[], shares: readonly number[]): (number | null)[] {
  const sums = new Float64Array(BUCKETS);
  let total = 0;
  for (const { buckets, counts } of histograms) {
    for (let i = 0; i < buckets.length; i++) {
      const bucket = buckets[i] as number;
      const count = counts[i] as number;
      sums[bucket] = (sums[bucket] as number) + count;
      total += count;
    }
  }
  const found: (number | null)[] = shares.map(() => null);
  let [bucket, reached] = [-1, 0];
  for (const [place, share] of shares.entries()) {
    const rank = Math.max(1, Math.ceil(total * share));
    while (reached < rank && bucket < BUCKETS - 1) reached += sums[++bucket] as number;
    if (reached >= rank) found[place] = middleOf(bucket);
  }
  return found;
}
