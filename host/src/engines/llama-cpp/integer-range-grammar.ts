/**
 * Builds a grammar for the integers of a range, digit by digit. It has about as many alternatives as the bounds have
 * digits.
 */

/** JavaScript and JSON represent integers with up to this many digits exactly. */
const DIGITS_MAX = 15;
const MAX = 10 ** DIGITS_MAX - 1;

/** Returns an expression in GBNF, llama.cpp's grammar language. Undefined if no integer is in the range. */
export function buildIntegerRangeGrammar({
  min = -MAX,
  max = MAX,
}: {
  min?: number;
  max?: number;
}): string | undefined {
  const [low, high] = [Math.max(Math.ceil(min), -MAX), Math.min(Math.floor(max), MAX)];
  if (!(low <= high)) return undefined;
  const negative = low < 0 ? naturals(Math.max(1, -high), -low) : [];
  const ranges = [
    ...(negative.length === 0 ? [] : [`"-" (${negative.join(" | ")})`]),
    ...(high < 0 ? [] : naturals(Math.max(0, low), high)),
  ];
  return ranges.join(" | ");
}

/** Non-negative integers: at least one alternative per number of digits. */
function naturals(low: number, high: number): string[] {
  const found: string[] = [];
  for (let digits = 1; digits <= DIGITS_MAX; digits++) {
    const from = Math.max(low, digits === 1 ? 0 : 10 ** (digits - 1));
    const to = Math.min(high, 10 ** digits - 1);
    if (from <= to) found.push(...equallyLong(String(from), String(to)));
  }
  return found;
}

/** Integers from `low` to `high`, which have the same number of digits. */
function equallyLong(low: string, high: string): string[] {
  const length = low.length;
  if (length === 0) return [""];
  if (/^0*$/.test(low) && /^9*$/.test(high)) return [`[0-9]{${length}}`];
  const [first, last] = [Number(low[0]), Number(high[0])];
  if (first === last) return after(digit(first, first), equallyLong(low.slice(1), high.slice(1)));
  const lowRest = low.slice(1);
  const highRest = high.slice(1);
  const fromLow = /^0*$/.test(lowRest);
  const toHigh = /^9*$/.test(highRest);
  const [wholeFrom, wholeTo] = [fromLow ? first : first + 1, toHigh ? last : last - 1];
  const whole =
    wholeFrom > wholeTo ? [] : after(digit(wholeFrom, wholeTo), [length === 1 ? "" : `[0-9]{${length - 1}}`]);
  return [
    ...(fromLow ? [] : after(digit(first, first), equallyLong(lowRest, "9".repeat(length - 1)))),
    ...whole,
    ...(toHigh ? [] : after(digit(last, last), equallyLong("0".repeat(length - 1), highRest))),
  ];
}

const digit = (from: number, to: number): string => (from === to ? `"${from}"` : `[${from}-${to}]`);

const after = (first: string, rests: string[]): string[] => {
  const written = rests.filter((rest) => rest !== "");
  return written.length === 0
    ? [first]
    : [`${first} ${written.length === 1 ? written[0] : `(${written.join(" | ")})`}`];
};
