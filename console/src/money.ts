/**
 * Money, exactly. The API writes microdollars as text with six more digits ("9830.400000"): counted in its last digit, the
 * picodollar, every amount is a whole number. Nothing here passes through a float.
 */
import { countText, ownDecimalSign } from "./locale.ts";

const PICO_PER_MICRO = 1_000_000n;
const PICO_PER_DOLLAR = 1_000_000_000_000n;
const DOLLAR_DIGITS = 12;
const CENT_DIGITS = 2;
const FINE_DIGITS = 4;

type Rounding = "up" | "down";

/** "9830.400000" → 9830400000n picodollars. Whole microdollars without a point are fine too. */
export function parseMicro(text: string): bigint {
  const [, minus, whole = "", part = ""] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole === "") throw new RangeError(`not an amount of microdollars: ${text}`);
  const pico = BigInt(whole) * PICO_PER_MICRO + BigInt(part.padEnd(6, "0"));
  return minus === "-" ? -pico : pico;
}

/** Whole microdollars, as the API takes amounts. */
export const wholeMicro = (pico: bigint): string => String(pico / PICO_PER_MICRO);

/**
 * Every digit there is, and at least cents: "$5.00", "$0.00000432". Balances and sums are written so: the last charge shows in
 * them however small it was, and they are what their rows add up to.
 */
export function exactDollars(pico: bigint): string {
  return write(pico, DOLLAR_DIGITS);
}

/**
 * How many places amounts that stand below each other need, so that nothing of any of them is cut off: two where all are whole
 * cents, else as many as the finest has. In steps of two: one row more seldom moves the rest.
 */
export function placesOf(amounts: Iterable<bigint>): number {
  let places = CENT_DIGITS;
  for (const pico of amounts) while (pico % 10n ** BigInt(DOLLAR_DIGITS - places) !== 0n) places += 2;
  return places;
}

/** With so many places, which `placesOf` gave for it: in a column the decimal points are below each other. */
export const columnDollars = (pico: bigint, places: number): string => write(pico, places, "keep");

/**
 * As long as is useful: cents from a dollar on, up to four digits from a cent on, below that the three digits that count,
 * zeros too. For sentences; a charge rounds up, as the API itself does, so that nothing is shown as there that is not.
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

/** Dollars with so many digits, without the zeros at their end unless they are kept, but never less than cents. */
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

/** An amount as it comes: microdollars as the API writes them, or picodollars. */
export const picoOf = (amount: string | bigint): bigint => (typeof amount === "string" ? parseMicro(amount) : amount);

/** For the height of a bar alone, where no cent is read off: dollars as a number. */
export const chartDollars = (pico: bigint): number => Number(pico / 1_000n) / 1_000_000_000;

/** Tokens at a price in microdollars per million, which is picodollars per token. */
export const costOfTokens = (tokens: number, microPerMillion: number): bigint =>
  BigInt(tokens) * BigInt(microPerMillion);
