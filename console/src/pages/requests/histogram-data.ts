/** The chart rows of the request histogram, and the time span that a user selects in it. Pure. */
import type { RequestHistogram } from "../../api/answer-types.ts";
import { describeOutcome } from "../../requests/outcome-names.ts";
import type { Tone } from "../../ui/badge.tsx";
import type { ChartRow, Series } from "../../ui/chart/chart-data.ts";
import { formatBucketTick } from "../../ui/chart/tick-labels.ts";
import type { ZoomedTimes } from "../../ui/chart/zoom.ts";

/** The order of the stacked outcomes by their tones, from the bottom. */
const STACK_ORDER: readonly Tone[] = ["good", "neutral", "accent", "warn", "bad"];
const COLOURS: Record<Tone, number> = { good: 1, neutral: 7, accent: 7, warn: 3, bad: 6 };
const DAY_S = 86_400;

export const outcomeColour = (outcome: string): number => COLOURS[describeOutcome(outcome).tone];

type Counts = Pick<RequestHistogram, "from" | "to" | "bucket_s" | "data">;

/** One row for each bucket of the histogram's time span, and one series for each outcome. */
export function toHistogramChart(histogram: Counts): { series: Series[]; rows: ChartRow[] } {
  const { bucket_s, data } = histogram;
  const start = findFirstBucket(histogram);
  const by = bucket_s >= DAY_S ? "day" : "hour";
  const rows = Array.from({ length: countBuckets(histogram) }, (_, i): ChartRow => {
    const at = (start + i * bucket_s) * 1000;
    return { label: formatBucketTick(by, at), at, values: {} };
  });
  for (const { at, outcome, requests } of data) {
    const values = rows[Math.round((at - start) / bucket_s)]?.values;
    if (values !== undefined) values[outcome] = (values[outcome] ?? 0) + requests;
  }
  const rankOf = (outcome: string): number => STACK_ORDER.indexOf(describeOutcome(outcome).tone);
  const outcomes = countRequestsByOutcome(histogram).map(({ outcome }) => outcome);
  const stacked = outcomes.toSorted((a, b) => rankOf(a) - rankOf(b));
  return { series: stacked.map((name) => ({ name, colour: outcomeColour(name) })), rows };
}

/** The API aligns buckets to a fixed moment, so the start of the first one is derived from a bucket with requests. */
function findFirstBucket({ from, bucket_s, data }: Counts): number {
  const known = data[0]?.at ?? from;
  return known - Math.ceil((known - from) / bucket_s) * bucket_s;
}

const countBuckets = (histogram: Counts): number =>
  Math.max(0, Math.ceil((histogram.to - findFirstBucket(histogram)) / histogram.bucket_s));

/** The number of requests by outcome, most frequent first. */
export function countRequestsByOutcome({ data }: Pick<Counts, "data">): { outcome: string; requests: number }[] {
  const sums = new Map<string, number>();
  for (const { outcome, requests } of data) sums.set(outcome, (sums.get(outcome) ?? 0) + requests);
  return [...sums].map(([outcome, requests]) => ({ outcome, requests })).sort((a, b) => b.requests - a.requests);
}

interface Span {
  from: string;
  to: string;
}
const asSpan = (from: number, to: number): Span => ({
  from: new Date(from * 1000).toISOString(),
  to: new Date(to * 1000).toISOString(),
});

/** The time span of the selected rows, for the URL. */
export const computeSelectedSpan = (histogram: Counts, { fromMs, toMs }: ZoomedTimes): Span =>
  asSpan(Math.max(histogram.from, fromMs / 1000), toMs / 1000 + histogram.bucket_s);

/** The time span before the histogram's own, with as many buckets. */
export function computePreviousSpan(histogram: Counts): Span {
  const start = findFirstBucket(histogram);
  return asSpan(start - countBuckets(histogram) * histogram.bucket_s, start);
}

/** The rows of the previous period. Undefined if the API counted them in buckets of another length. */
export function toPreviousRows(histogram: Counts, before: RequestHistogram): ChartRow[] | undefined {
  if (before.bucket_s !== histogram.bucket_s) return undefined;
  const to = findFirstBucket(histogram);
  return toHistogramChart({ ...before, from: to - countBuckets(histogram) * histogram.bucket_s, to }).rows;
}

const UNITS = [
  [7 * DAY_S, "week"],
  [DAY_S, "day"],
  [3600, "hour"],
  [60, "minute"],
] as const;

/** For example "5 minutes", "day". */
export function bucketLengthText(bucketS: number): string {
  const [size, unit] = UNITS.find(([size]) => bucketS % size === 0) ?? [60, "minute"];
  const count = Math.round(bucketS / size);
  return count === 1 ? unit : `${count} ${unit}s`;
}
