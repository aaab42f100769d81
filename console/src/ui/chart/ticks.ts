/**
 * Computes the marks of an axis: values at steps of 1, 2 or 5 (times a power of ten), and times at round hours or days.
 * Pure.
 */
import { formatMonthDay, formatUtcMonthDay, minuteText, zoneOffsetMs } from "../../locale.ts";

const STEPS = [1, 2, 5, 10];

/**
 * Marks from zero to at least the largest value, with at most this many steps. For counts, only whole numbers have
 * marks.
 */
export function valueTicks(most: number, { steps = 4, whole = false } = {}): number[] {
  if (!(most > 0)) return [0, 1];
  const step = niceStep(most / steps, whole);
  // Subtracting 1e-9 compensates for floating-point errors, as in 3 × 0.1.
  return Array.from({ length: Math.max(1, Math.ceil(most / step - 1e-9)) + 1 }, (_, i) =>
    Number((i * step).toPrecision(12)),
  );
}

function niceStep(rough: number, whole: boolean): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const nice = (STEPS.find((step) => step * power >= rough * (1 - 1e-9)) ?? 10) * power;
  return whole ? Math.max(1, nice) : Number(nice.toPrecision(1));
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 5, 10, 20].map((days) => days * DAY),
];

/**
 * Whether the rows are UTC days. A single row never counts as one, because it may be an hour that begins at midnight.
 */
export const areUtcMidnights = (moments: number[]): boolean =>
  moments.length > 1 && moments.every((at) => at % DAY === 0);

/**
 * The label below each row: a time or date at the first row of a round time, otherwise empty. Has at most `most` labels.
 * Daily rows are in UTC, others in the reader's time zone, in which rows of several hours may not begin at midnight.
 */
export function makeTimeTicks(
  moments: number[],
  most: number,
  zoneMs: (at: number) => number = zoneOffsetMs,
): string[] {
  const days = areUtcMidnights(moments);
  const local = (at: number): number => (days ? at : at + zoneMs(at));
  const [first = 0, second = first] = moments;
  const last = moments.at(-1) ?? first;
  const isFirstOf = (step: number, at: number): boolean => local(at) % step < Math.max(1, second - first);
  // Days are counted back from the last row, which is today.
  const place = (at: number, step: number): boolean => (days ? (last - at) % step === 0 : isFirstOf(step, at));
  const step = TIME_STEPS.find((each) => {
    const marks = moments.filter((at) => place(at, each)).length;
    return marks > 1 && marks <= most;
  });
  if (step === undefined) {
    const write = last - first > DAY ? formatMonthDay : minuteText;
    return spread(moments, most).map((at) => (at === undefined ? "" : write(at)));
  }
  return moments.map((at) => {
    if (!place(at, step)) return "";
    if (days) return formatUtcMonthDay(at);
    return isFirstOf(DAY, at) ? formatMonthDay(at) : minuteText(at);
  });
}

/** Labels every n-th row if no time is round, as with samples of the last minutes. */
function spread(moments: number[], most: number): (number | undefined)[] {
  const each = Math.max(1, Math.ceil(moments.length / most));
  return moments.map((at, i) => (i % each === 0 ? at : undefined));
}
