/** The spans of time that charts show, and their buckets: hours of a day, or days. Pure. */
import { daysBefore, startOfUtcDay } from "./time.ts";

export type TimeRange = "24h" | "7d" | "30d";

/** "in the last 24 hours". */
export const RANGE_WORDS: Record<TimeRange, string> = {
  "24h": "the last 24 hours",
  "7d": "the last 7 days",
  "30d": "the last 30 days",
};

const HOUR_MS = 3_600_000;
const HOURS = 24;
const DAYS = { "7d": 7, "30d": 30 };

export interface Span {
  by: "hour" | "day";
  from: Date;
  /** Where each bucket begins, the oldest first. */
  starts: Date[];
}

/** Hours begin with the clock's hour; days are the platform's own, in UTC. */
export function spanOf(range: TimeRange, nowMs: number): Span {
  const by = range === "24h" ? "hour" : "day";
  const starts = range === "24h" ? lastHours(nowMs) : lastDays(nowMs, DAYS[range]);
  return { by, from: starts[0] as Date, starts };
}

function lastHours(nowMs: number): Date[] {
  const last = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  return Array.from({ length: HOURS }, (_, i) => new Date(last - (HOURS - 1 - i) * HOUR_MS));
}

function lastDays(nowMs: number, days: number): Date[] {
  const today = startOfUtcDay(nowMs);
  return Array.from({ length: days }, (_, i) => daysBefore(today, days - 1 - i));
}

/** The buckets as the API's sums name them: `2026-11-15T06:00:00Z`, `2026-11-15`. */
export const bucketNames = ({ by, starts }: Span): string[] =>
  starts.map((start) => {
    const text = start.toISOString();
    return by === "hour" ? `${text.slice(0, 13)}:00:00Z` : text.slice(0, 10);
  });
