/** Formats times and durations: local time, and UTC for comparison with logs. The API uses Unix seconds. */
import {
  formatClockTime,
  formatDay,
  formatDayAndTime,
  formatMonthDayAndTime,
  formatTimeAgo,
  formatUtcDate,
  formatWithDecimals,
  formatYear,
} from "./locale.ts";

const DAY_S = 86_400;

export const asDate = (unixSeconds: number): Date => new Date(unixSeconds * 1000);
export const formatLocalMoment = (unixSeconds: number): string => formatDayAndTime(asDate(unixSeconds));
export const formatLocalDay = (unixSeconds: number): string => formatDay(asDate(unixSeconds));
/** A UTC day as in the API's usage sums: "Nov 15, 2026" for `2026-11-15`. */
export const formatUtcDay = (day: string): string => formatUtcDate(Date.parse(day));
export const formatUtcMoment = (unixSeconds: number): string =>
  `${asDate(unixSeconds).toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** Only the time if it is today, otherwise the date and the time. Without the year if it is this year. */
export function formatShortMoment(unixSeconds: number, nowMs: number): string {
  const date = asDate(unixSeconds);
  if (formatDay(nowMs) === formatDay(date)) return formatClockTime(date);
  return formatYear(nowMs) === formatYear(date) ? formatMonthDayAndTime(date) : formatDayAndTime(date);
}

/** For example "3 minutes ago". */
export function formatTimeSince(unixSeconds: number, nowMs: number): string {
  const seconds = Math.round(unixSeconds - nowMs / 1000);
  const size = Math.abs(seconds);
  if (size < 45) return "just now";
  if (size < 45 * 60) return formatTimeAgo(Math.round(seconds / 60), "minute");
  if (size < DAY_S) return formatTimeAgo(Math.round(seconds / 3600), "hour");
  if (size < 30 * DAY_S) return formatTimeAgo(Math.round(seconds / DAY_S), "day");
  return formatLocalDay(unixSeconds);
}

/** For example "840 ms", "1.24 s", "2 min 5 s". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${formatWithDecimals(ms / 1000, 2)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
