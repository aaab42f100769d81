/** The bars of the request histogram, and the time span that a user selects in it. Pure. */
import type { RequestHistogram } from "../../api/answer-types.ts";
import { formatMonthDay, formatUtcMonthDay, minuteText } from "../../locale.ts";
import { describeOutcome } from "../../requests/outcome-names.ts";
import type { Tone } from "../../ui/badge.tsx";

/** The order of the stacked tones, from the bottom. */
export const STACK_ORDER = ["good", "neutral", "warn", "bad"] as const satisfies readonly Tone[];
type Stacked = (typeof STACK_ORDER)[number];

export interface HistogramBar {
  /** The start of the bar, in Unix seconds. */
  at: number;
  total: number;
  of: Record<Stacked, number>;
}

/** The indexes of the first and last selected bar, both inclusive, in either order. */
export interface BarSelection {
  anchor: number;
  focus: number;
}

export function buildBars({ from, to, bucket_s: length, data }: RequestHistogram): HistogramBar[] {
  const first = data[0]?.at ?? from;
  // The API aligns buckets to a fixed moment, so the start of the range is derived from the first bucket.
  const start = first - Math.ceil((first - from) / length) * length;
  const count = Math.max(0, Math.ceil((to - start) / length));
  const bars = Array.from({ length: count }, (_, i): HistogramBar => {
    return { at: start + i * length, total: 0, of: { good: 0, neutral: 0, warn: 0, bad: 0 } };
  });
  for (const { at, outcome, requests } of data) {
    const bar = bars[Math.round((at - start) / length)];
    if (bar === undefined) continue;
    bar.total += requests;
    bar.of[toneOf(outcome)] += requests;
  }
  return bars;
}

const toneOf = (outcome: string): Stacked => {
  const { tone } = describeOutcome(outcome);
  return STACK_ORDER.find((one) => one === tone) ?? "neutral";
};

/** One SVG path per tone, in coordinates where each bar is 1 wide and the highest is 1 high. */
export function buildStackPaths(bars: readonly HistogramBar[]): Record<Stacked, string> {
  const most = Math.max(1, ...bars.map(({ total }) => total));
  const paths: Record<Stacked, string> = { good: "", neutral: "", warn: "", bad: "" };
  for (const [i, { of }] of bars.entries()) {
    let below = 0;
    for (const tone of STACK_ORDER) {
      if (of[tone] === 0) continue;
      const [bottom, top] = [1 - below / most, 1 - (below + of[tone]) / most];
      paths[tone] += `M${tidy(i + 0.1)},${tidy(bottom)}V${tidy(top)}h0.8V${tidy(bottom)}Z`;
      below += of[tone];
    }
  }
  return paths;
}

const tidy = (value: number): number => Math.round(value * 10_000) / 10_000;

/** The number of requests by outcome, most frequent first. */
export function countRequestsByOutcome({ data }: RequestHistogram): { outcome: string; requests: number }[] {
  const sums = new Map<string, number>();
  for (const { outcome, requests } of data) sums.set(outcome, (sums.get(outcome) ?? 0) + requests);
  return [...sums].map(([outcome, requests]) => ({ outcome, requests })).sort((a, b) => b.requests - a.requests);
}

/** The index of the bar at this position, given as a fraction of the width. */
export const findBarIndex = (share: number, count: number): number =>
  Math.min(count - 1, Math.max(0, Math.floor(share * count)));

export const findSelectionEdges = ({ anchor, focus }: BarSelection): [number, number] => [
  Math.min(anchor, focus),
  Math.max(anchor, focus),
];

/** The time span of the selected bars, for the URL. */
export function computeSelectedSpan(
  histogram: RequestHistogram,
  bars: readonly HistogramBar[],
  choice: BarSelection,
): { from: string; to: string } {
  const [first, last] = findSelectionEdges(choice);
  const start = Math.max(histogram.from, bars[first]?.at ?? histogram.from);
  const end = (bars[last]?.at ?? histogram.to) + histogram.bucket_s;
  return { from: new Date(start * 1000).toISOString(), to: new Date(end * 1000).toISOString() };
}

const DAY_S = 86_400;

/** The label of a moment: "Nov 15, 06:00", or "Nov 15" in UTC if buckets are days. */
export function formatBucketStart(unixSeconds: number, bucketS: number): string {
  const at = unixSeconds * 1000;
  return bucketS >= DAY_S ? formatUtcMonthDay(at) : `${formatMonthDay(at)}, ${minuteText(at)}`;
}

const UNITS = [
  [7 * DAY_S, "week"],
  [DAY_S, "day"],
  [3600, "hour"],
  [60, "minute"],
] as const;

/** For example "5 minutes", "1 day". */
export function bucketLengthText(bucketS: number): string {
  const [size, unit] = UNITS.find(([size]) => bucketS % size === 0) ?? [60, "minute"];
  const count = Math.round(bucketS / size);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
