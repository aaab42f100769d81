/**
 * Histograms of milliseconds in the format of the rollups: one number per bucket, the bucket in the upper bits and its
 * count in the lower forty. The buckets of sql/functions/histogram_bucket.sql are one millisecond wide below 128 and at
 * most a 64th of their value above, so percentiles are exact to less than one percent.
 */

/** Buckets and their counts. After several histograms are joined, a bucket may occur more than once, in any order. */
export interface DurationHistogram {
  buckets: Uint16Array;
  counts: Float64Array;
}

/** The number of buckets. The largest holds 2^31 − 1 milliseconds. */
const BUCKETS = findBucket(2 ** 31 - 1) + 1;

/** The number of a duration's bucket. */
export function findBucket(ms: number): number {
  if (ms < 64) return Math.max(0, Math.floor(ms));
  const exponent = 31 - Math.clz32(ms);
  return 64 * (exponent - 5) + (ms >> (exponent - 6)) - 64;
}

/** The duration in the middle of a bucket. */
export function bucketMiddleMs(bucket: number): number {
  if (bucket < 128) return bucket;
  const shift = Math.floor(bucket / 64) - 1;
  const smallest = ((bucket % 64) + 64) * 2 ** shift;
  return smallest + Math.floor((2 ** shift - 1) / 2);
}

/** The header of an array in PostgreSQL's binary form: dimensions, nulls and type, then two numbers per dimension. */
const HEAD_BYTES = 12;
const DIMENSION_BYTES = 8;
/** The size of the length field before each number of the array. */
const LENGTH_BYTES = 4;
const NUMBER_BYTES = 8;

/**
 * Reads histograms as arrays of `bigint` in PostgreSQL's binary form (`array_send`), one after another. A week has a
 * million numbers, and text would take several times as many bytes.
 */
export function joinHistograms(bytes: Buffer): DurationHistogram {
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

const roomFor = (numbers: number): DurationHistogram => ({
  buckets: new Uint16Array(numbers),
  counts: new Float64Array(numbers),
});

const PACKED_BYTES = 6;

/** Reads histograms of closed days: the number of each bucket in two bytes, its count in four. */
export function joinPackedHistograms(bytes: Buffer): DurationHistogram {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { buckets, counts } = roomFor(bytes.length / PACKED_BYTES);
  for (let i = 0, at = 0; i < buckets.length; i++, at += PACKED_BYTES) {
    buckets[i] = view.getUint16(at);
    counts[i] = view.getUint32(at + 2);
  }
  return { buckets, counts };
}

/** Percentiles over all histograms by the nearest-rank method, in the order of `shares`. Null without values. */
export function computePercentiles(
  histograms: readonly DurationHistogram[],
  shares: readonly number[],
): (number | null)[] {
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
    if (reached >= rank) found[place] = bucketMiddleMs(bucket);
  }
  return found;
}
