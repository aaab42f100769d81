/** Formats a chart's values and rows. */
import {
  countText,
  decimalText,
  fixedText,
  minuteText,
  monthDayText,
  utcMonthDayText,
  zoneName,
} from "../../locale.ts";
import { span } from "../../time.ts";
import { areDays } from "./ticks.ts";

const MONEY_PLACES_MAX = 12;

/** Of a single amount the digits that count: "$0.0123"; from a dollar on, cents. */
const DIGITS = 3;

/** Dollars with the places that the axis' step needs: "$0.10" for steps of $0.05. */
export function moneyTick(dollars: number, step?: number): string {
  const places = step === undefined ? placesOfOne(dollars) : step >= 1 ? 0 : placesOf(step);
  return `$${fixedText(dollars, places)}`;
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

/** "+4.7 %", "−12 %": against the period before. */
export function changeText(share: number): string {
  const size = Math.abs(share) * 100;
  return `${share < 0 ? "−" : "+"}${size < 10 ? decimalText(size) : countText(size)} %`;
}

/** Whose days or hours an axis shows. */
export function zoneText(moments: number[]): string {
  if (areDays(moments)) return "Days in UTC";
  return `Times in ${zoneName(moments.at(-1) ?? 0)}`;
}

/** From this step on an axis of times counts in seconds. */
const SECONDS_FROM_MS = 500;

/** Milliseconds at an axis, all of its marks in the unit that the step needs: "0 s", "0.5 s", "1 s". Elsewhere as ever: "1.24 s". */
export function spanTick(ms: number, step?: number): string {
  if (step === undefined) return span(ms);
  return step < SECONDS_FROM_MS ? `${countText(ms)} ms` : `${decimalText(ms / 1000)} s`;
}

/** A moment of the reader's own day: "Nov 15, 06:30". */
export const momentTick = (at: number): string => `${monthDayText(at)}, ${minuteText(at)}`;

/** Of a bucket of sums: `2026-11-15T06:00:00Z`, `2026-11-15`, or the moment itself. Days are UTC's: so are the sums. */
export function bucketTick(by: "hour" | "day", bucket: string | number): string {
  const at = new Date(bucket);
  return by === "hour" ? momentTick(at.getTime()) : `${utcMonthDayText(at)} UTC`;
}
