/**
 * Parses typed dollar amounts with a decimal point or comma. Ambiguous ones are refused: in some countries "1,000" is a
 * thousand, in others it is one. Pure, except for the user's own decimal sign.
 */

import { formatExactDollars } from "./dollar-amounts.ts";
import { type DecimalSign, findLocaleDecimalSign, formatWholeNumber } from "./locale.ts";

const DOLLAR_DIGITS = 12;
const NO_AMOUNT = "Enter an amount in dollars, such as 12.50.";
/** An ambiguous amount, such as 1,000: the three digits after the point or comma may be decimals or not. */
const GROUP_OR_PLACES = /^([1-9]\d{0,2})[.,](\d{3})$/;
const FORMS = [
  // For example 1250 · 12.5 · 12,5 · 0,005
  /^(?<whole>\d{1,9})(?:[.,](?<part>\d{1,6}))?$/,
  // For example 1,234 · 1,234.5 · 1 234,5
  /^(?<whole>\d{1,3}(?:(?<sign>[., ])\d{3})(?:\k<sign>\d{3})?)(?:(?!\k<sign>)[.,](?<part>\d{1,6}))?$/,
];

type ReadDollars = { pico: bigint } | { wrong: string };

export function parseDollars(text: string, decimal: DecimalSign = findLocaleDecimalSign()): ReadDollars {
  const typed = text
    .trim()
    .replaceAll(/[\u00a0\u2009\u202f'’]/g, " ")
    .replace(/^\$ ?/, "")
    .replace(/ ?\$$/, "");
  const [, before, after] = GROUP_OR_PLACES.exec(typed) ?? [];
  if (before !== undefined && after !== undefined) {
    const [group, places] = [amount(before + after, ""), amount(before, after)];
    // With a decimal point, "1,000" is a thousand: the console writes 1,000.00 itself.
    if (decimal === ".") return { pico: typed.includes(",") ? group : places };
    return {
      wrong: `This amount can mean ${formatExactDollars(group)} or ${formatExactDollars(places)}. Type ${before}${after} or ${before}.${after}0.`,
    };
  }
  for (const form of FORMS) {
    const { whole, part = "" } = form.exec(typed)?.groups ?? {};
    if (whole !== undefined) return { pico: amount(whole.replaceAll(/\D/g, ""), part) };
  }
  // Indian grouping (12,34,567.50), if the user's own locale uses it.
  const [, own = "", part = ""] = /^([\d,]{1,11})(?:\.(\d{1,6}))?$/.exec(typed) ?? [];
  const digits = own.replaceAll(",", "");
  return digits !== "" && formatWholeNumber(BigInt(digits)) === own
    ? { pico: amount(digits, part) }
    : { wrong: NO_AMOUNT };
}

const amount = (whole: string, part: string): bigint => BigInt(whole + part.padEnd(DOLLAR_DIGITS, "0"));

/**
 * The parsed amount, for example "$12.50", shown before it is sent. Undefined if the text is invalid. Never with three
 * decimals, which could be read as a thousand.
 */
export function describeParsedDollars(text: string, decimal?: DecimalSign): string | undefined {
  const read = parseDollars(text, decimal);
  return "pico" in read ? formatExactDollars(read.pico).replace(/[.,]\d{3}$/, "$&0") : undefined;
}
