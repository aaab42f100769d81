/**
 * Exact money. The API's amounts are microdollars as text with six more digits ("9830.400000"); in picodollars, the
 * last digit, every amount is a whole number. Nothing here uses floating point.
 */
import { countText, ownDecimalSign } from "./locale.ts";

const PICO_PER_MICRO = 1_000_000n;
const PICO_PER_DOLLAR = 1_000_000_000_000n;
const DOLLAR_DIGITS = 12;
const CENT_DIGITS = 2;
const FINE_DIGITS = 4;

type Rounding = "up" | "down";

/** For example "9830.400000" → 9830400000n picodollars. Whole microdollars without a point are allowed too. */
export function parseMicro(text: string): bigint {
  const [, minus, whole = "", part = ""] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole === "") throw new RangeError(`not an amount of microdollars: ${text}`);
  const pico = BigInt(whole) * PICO_PER_MICRO + BigInt(part.padEnd(6, "0"));
  return minus === "-" ? -pico : pico;
}

/** Whole microdollars, as the API accepts amounts. */
export const wholeMicro = (pico: bigint): string => String(pico / PICO_PER_MICRO);

/**
 * Formats every digit, and at least cents: "$5.00", "$0.00000432". Used for balances and sums: even the smallest charge
 * changes them, and they equal the sum of their rows.
 */
export function exactDollars(pico: bigint): string {
  return write(pico, DOLLAR_DIGITS);
}

/**
 * The number of decimals that a column of amounts needs so that none is cut off: two if all are whole cents, otherwise
 * as many as the finest amount has. In steps of two, so that a new row seldom changes the others.
 */
export function placesOf(amounts: Iterable<bigint>): number {
  let places = CENT_DIGITS;
  for (const pico of amounts) while (pico % 10n ** BigInt(DOLLAR_DIGITS - places) !== 0n) places += 2;
  return places;
}

/** Formats with the number of decimals from `placesOf`, so that the decimal points of a column align. */
export const columnDollars = (pico: bigint, places: number): string => write(pico, places, "keep");

/**
 * A short form for sentences: cents from a dollar on, up to four digits from a cent on, below that three significant
 * digits with zeros. A charge rounds up, as the API does, and a balance down.
 */
export function shortDollars(pico: bigint, rounding: Rounding): string {
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

/** Formats dollars with this many digits. Trailing zeros are removed unless kept, but cents always stay. */
function write(pico: bigint, digits: number, zeros: "trim" | "keep" = "trim"): string {
  const size = pico < 0n ? -pico : pico;
  const part = String(size % PICO_PER_DOLLAR)
    .padStart(DOLLAR_DIGITS, "0")
    .slice(0, digits);
  const cents = part.slice(0, 2);
  const finer = zeros === "keep" ? part.slice(2) : part.slice(2).replace(/0+$/, "");
  return `${pico < 0n ? "−" : ""}$${countText(size / PICO_PER_DOLLAR)}${ownDecimalSign()}${cents}${finer}`;
}

/** "1234.50": as it is typed, without the sign of dollars and without groups. */
export function typedDollars(pico: bigint): string {
  const [whole, part] = [pico / PICO_PER_DOLLAR, String(pico % PICO_PER_DOLLAR).padStart(DOLLAR_DIGITS, "0")];
  return `${whole}${ownDecimalSign()}${part.slice(0, CENT_DIGITS)}${part.slice(CENT_DIGITS).replace(/0+$/, "")}`;
}

export const sumMicro = (amounts: Iterable<string>): bigint => {
  let sum = 0n;
  for (const amount of amounts) sum += parseMicro(amount);
  return sum;
};

/** Accepts microdollars as the API writes them, or picodollars. */
export const picoOf = (amount: string | bigint): bigint => (typeof amount === "string" ? parseMicro(amount) : amount);

/** Dollars as a number, only for the height of a bar. */
export const chartDollars = (pico: bigint): number => Number(pico / 1_000n) / 1_000_000_000;

/** Tokens times a price in microdollars per million, which equals picodollars per token. */
export const costOfTokens = (tokens: number, microPerMillion: number): bigint =>
  BigInt(tokens) * BigInt(microPerMillion);
