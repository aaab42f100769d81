/** Formats values and times for a chart's labels. */

import { formatDuration } from "../../format-time.ts";
import {
  decimalText,
  formatMonthDay,
  formatUtcMonthDay,
  formatWholeNumber,
  formatWithDecimals,
  makeTimeZoneLabel,
  minuteText,
} from "../../locale.ts";
import { areUtcMidnights } from "./ticks.ts";

const MONEY_PLACES_MAX = 12;

/** The number of significant digits of an amount below $1: "$0.0123". Amounts from $1 on have two decimals. */
const DIGITS = 3;

/** Formats dollars with as many decimals as the axis's step needs: "$0.10" for steps of $0.05. */
export function formatMoneyTick(dollars: number, step?: number): string {
  const places = step === undefined ? placesOfOne(dollars) : step >= 1 ? 0 : placesOf(step);
  return `$${formatWithDecimals(dollars, places)}`;
}

const placesOf = (step: number): number =>
  Math.min(MONEY_PLACES_MAX, Math.max(2, step > 0 ? Math.ceil(-Math.log10(step) - 1e-9) : 0));

function placesOfOne(dollars: number): number {
  if (dollars >= 1) return 2;
  const [digits = "", power = "0"] = dollars.toExponential(DIGITS - 1).split("e");
  return Math.min(
    MONEY_PLACES_MAX,
    Math.max(2, digits.replace(/\.?0+$/, "").replace(".", "").length - 1 - Number(power)),
  );
}

/** The change from the previous period: "+4.7 %", "−12 %". */
export function formatRelativeChange(share: number): string {
  const size = Math.abs(share) * 100;
  return `${share < 0 ? "−" : "+"}${size < 10 ? decimalText(size) : formatWholeNumber(size)} %`;
}

/** The name of the time zone that the axis uses. */
export function formatTimeZone(moments: number[]): string {
  if (areUtcMidnights(moments)) return "Days in UTC";
  return `Times in ${makeTimeZoneLabel(moments.at(-1) ?? 0)}`;
}

/** From this step on, labels of a duration axis are in seconds. */
const SECONDS_FROM_MS = 500;

/** Formats milliseconds. On an axis, all labels have the same unit: "0 s", "0.5 s", "1 s". Without a step: "1.24 s". */
export function formatDurationTick(ms: number, step?: number): string {
  if (step === undefined) return formatDuration(ms);
  return step < SECONDS_FROM_MS ? `${formatWholeNumber(ms)} ms` : `${decimalText(ms / 1000)} s`;
}

/** A local date and time such as "Nov 15, 06:30". */
export const formatMomentTick = (at: number): string => `${formatMonthDay(at)}, ${minuteText(at)}`;

/**
 * The label of a usage bucket: `2026-11-15T06:00:00Z`, `2026-11-15`, or milliseconds. Days are in UTC, like the sums.
 */
export function formatBucketTick(by: "hour" | "day", bucket: string | number): string {
  const at = new Date(bucket);
  return by === "hour" ? formatMomentTick(at.getTime()) : `${formatUtcMonthDay(at)} UTC`;
}
