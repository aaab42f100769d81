/**
 * Exact money without floating point. The API's amounts are microdollars as text with six decimals ("9830.400000"). As
 * picodollars (millionths of a microdollar), every amount is a whole number.
 */
import { findLocaleDecimalSign, formatWholeNumber } from "./locale.ts";

const PICO_PER_MICRO = 1_000_000n;
const PICO_PER_DOLLAR = 1_000_000_000_000n;
const DOLLAR_DIGITS = 12;
const CENT_DIGITS = 2;
const FINE_DIGITS = 4;

type Rounding = "up" | "down";

/**
 * For example "9830.400000" → 9830400000n picodollars. Whole microdollars without a decimal point are also accepted.
 */
export function parseMicro(text: string): bigint {
  const [, minus, whole = "", part = ""] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole === "") throw new RangeError(`not an amount of microdollars: ${text}`);
  const pico = BigInt(whole) * PICO_PER_MICRO + BigInt(part.padEnd(6, "0"));
  return minus === "-" ? -pico : pico;
}

/** Converts picodollars to whole microdollars, the unit of amounts that the API accepts. */
export const toWholeMicro = (pico: bigint): string => String(pico / PICO_PER_MICRO);

/**
 * Formats all digits, and at least cents: "$5.00", "$0.00000432". Used for balances and sums, so that even the smallest
 * charge changes a balance and rows add up to their sum.
 */
export function formatExactDollars(pico: bigint): string {
  return write(pico, DOLLAR_DIGITS);
}

/**
 * The number of decimals that a column of amounts needs so that no digit is cut off: two for whole cents, otherwise as
 * many as the finest amount has. Rounded up to an even number, so that a new row seldom changes the column.
 */
export function decimalsNeeded(amounts: Iterable<bigint>): number {
  let places = CENT_DIGITS;
  for (const pico of amounts) while (pico % 10n ** BigInt(DOLLAR_DIGITS - places) !== 0n) places += 2;
  return places;
}

/** Formats with the number of decimals from `decimalsNeeded`, so that the decimal points of a column align. */
export const formatColumnDollars = (pico: bigint, places: number): string => write(pico, places, "keep");

/**
 * A short form for sentences: two decimals from $1 on, up to four digits from $0.01 on, and three significant digits
 * below. A charge rounds up, as in the API, and a balance rounds down.
 */
export function formatShortDollars(pico: bigint, rounding: Rounding): string {
  const digits = usefulDigits(pico < 0n ? -pico : pico);
  const unit = 10n ** BigInt(DOLLAR_DIGITS - digits);
  const rest = ((pico % unit) + unit) % unit;
  const down = pico - rest;
  const zeros = digits > FINE_DIGITS ? "keep" : "trim";
  return write(rest === 0n || rounding === "down" ? down : down + unit, digits, zeros);
}

function usefulDigits(size: bigint): number {
  if (size === 0n || size >= PICO_PER_DOLLAR) return 2;
  if (size >= PICO_PER_DOLLAR / 100n) return FINE_DIGITS;
  const leadingZeros = DOLLAR_DIGITS - String(size).length;
  return Math.min(DOLLAR_DIGITS, leadingZeros + 3);
}

/**
 * Formats an amount in dollars, cut to `digits` decimals. Trims trailing zeros beyond the cents unless they are kept.
 */
function write(pico: bigint, digits: number, zeros: "trim" | "keep" = "trim"): string {
  const size = pico < 0n ? -pico : pico;
  const part = String(size % PICO_PER_DOLLAR)
    .padStart(DOLLAR_DIGITS, "0")
    .slice(0, digits);
  const cents = part.slice(0, 2);
  const finer = zeros === "keep" ? part.slice(2) : part.slice(2).replace(/0+$/, "");
  return `${pico < 0n ? "−" : ""}$${formatWholeNumber(size / PICO_PER_DOLLAR)}${findLocaleDecimalSign()}${cents}${finer}`;
}

/** For example "1234.50": the value of an input field, without dollar sign and group separators. */
export function formatDollarsForInput(pico: bigint): string {
  const [whole, part] = [pico / PICO_PER_DOLLAR, String(pico % PICO_PER_DOLLAR).padStart(DOLLAR_DIGITS, "0")];
  return `${whole}${findLocaleDecimalSign()}${part.slice(0, CENT_DIGITS)}${part.slice(CENT_DIGITS).replace(/0+$/, "")}`;
}

export const sumMicro = (amounts: Iterable<string>): bigint => {
  let sum = 0n;
  for (const amount of amounts) sum += parseMicro(amount);
  return sum;
};

/** Accepts microdollars as the API writes them, or picodollars. */
export const toPico = (amount: string | bigint): bigint => (typeof amount === "string" ? parseMicro(amount) : amount);

/** Dollars as a floating-point number, only for the height of a chart's bar. */
export const toChartDollars = (pico: bigint): number => Number(pico / 1_000n) / 1_000_000_000;

/** The cost of tokens. A price in microdollars per million tokens equals picodollars per token. */
export const computeTokenCost = (tokens: number, microPerMillion: number): bigint =>
  BigInt(tokens) * BigInt(microPerMillion);
