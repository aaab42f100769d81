/** The time ranges that pages show, and their buckets: hours of a day, or UTC days. Pure. */
import { daysBefore, startOfUtcDay } from "./utc-dates.ts";

export const TIME_RANGES = ["1h", "6h", "24h", "7d", "30d", "90d"] as const;
export type TimeRange = (typeof TIME_RANGES)[number];

/** The ranges for which the API sums usage by whole hours or days. */
export const BUCKETED_RANGES = ["24h", "7d", "30d", "90d"] as const satisfies readonly TimeRange[];
export type BucketedRange = (typeof BUCKETED_RANGES)[number];

/** For example "in the last 24 hours". */
export const RANGE_TEXTS: Record<TimeRange, string> = {
  "1h": "the last hour",
  "6h": "the last 6 hours",
  "24h": "the last 24 hours",
  "7d": "the last 7 days",
  "30d": "the last 30 days",
  "90d": "the last 90 days",
};

/** For example "Compare with the 24 hours before". */
export const PREVIOUS_PERIOD_TEXTS: Record<TimeRange, string> = {
  "1h": "the hour before",
  "6h": "the 6 hours before",
  "24h": "the 24 hours before",
  "7d": "the 7 days before",
  "30d": "the 30 days before",
  "90d": "the 90 days before",
};

const HOUR_MS = 3_600_000;
const LENGTH_HOURS: Record<TimeRange, number> = { "1h": 1, "6h": 6, "24h": 24, "7d": 168, "30d": 720, "90d": 2160 };

export const isTimeRange = (value: unknown): value is TimeRange => TIME_RANGES.some((range) => range === value);

/** The start of a range that ends now. */
export const findRangeStart = (range: TimeRange, nowMs: number): Date =>
  new Date(nowMs - LENGTH_HOURS[range] * HOUR_MS);

export interface BucketedSpan {
  by: "hour" | "day";
  from: Date;
  /** The start time of each bucket, oldest first. */
  starts: Date[];
}

/** Hourly buckets begin on the hour; daily buckets are UTC days. */
export function computeBucketedSpan(range: BucketedRange, nowMs: number): BucketedSpan {
  const hours = LENGTH_HOURS[range];
  const by = range === "24h" ? "hour" : "day";
  const starts = by === "hour" ? lastHours(nowMs, hours) : lastDays(nowMs, hours / 24);
  return { by, from: starts[0] as Date, starts };
}

/** The previous period: the same number of buckets, ending where this period begins. */
export function computePreviousSpan({ by, from, starts }: BucketedSpan): BucketedSpan {
  const bucketMs = by === "hour" ? HOUR_MS : 24 * HOUR_MS;
  const before = starts.map((start) => new Date(start.getTime() - starts.length * bucketMs));
  return { by, from: before[0] ?? from, starts: before };
}

function lastHours(nowMs: number, hours: number): Date[] {
  const last = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  return Array.from({ length: hours }, (_, i) => new Date(last - (hours - 1 - i) * HOUR_MS));
}

function lastDays(nowMs: number, days: number): Date[] {
  const today = startOfUtcDay(nowMs);
  return Array.from({ length: days }, (_, i) => daysBefore(today, days - 1 - i));
}

/** The buckets' names in the API's usage sums: `2026-11-15T06:00:00Z` or `2026-11-15`. */
export const formatBucketNames = ({ by, starts }: BucketedSpan): string[] =>
  starts.map((start) => {
    const text = start.toISOString();
    return by === "hour" ? `${text.slice(0, 13)}:00:00Z` : text.slice(0, 10);
  });
