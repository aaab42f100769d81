/** Parses typed dollar amounts, and checks the API's limits before sending them. */
import { formatDollarsForInput, formatExactDollars, parseMicro, toWholeMicro } from "../../dollar-amounts.ts";
import { parseDollars } from "../../parse-dollars.ts";

const PICO_PER_CENT = 10_000_000_000n;

export interface AmountBounds {
  least: bigint;
  most: bigint;
}

const dollars = (amount: number): bigint => BigInt(amount) * 100n * PICO_PER_CENT;

/** The limits of one purchase. */
export const PURCHASE_BOUNDS: AmountBounds = { least: dollars(5), most: dollars(5_000) };
/** The limits of the thresholds for alerts and automatic top-up. */
export const THRESHOLD_BOUNDS: AmountBounds = { least: PICO_PER_CENT, most: dollars(1_000_000) };
export const MONTHLY_TOP_UP_BOUNDS: AmountBounds = { least: PURCHASE_BOUNDS.least, most: THRESHOLD_BOUNDS.most };

/** Returns microdollars for the API, or a message about the invalid text. */
export function parseAmount(text: string, { least, most }: AmountBounds): { micro: string } | { wrong: string } {
  const read = parseDollars(text);
  if ("pico" in read) {
    const { pico } = read;
    if (pico >= least && pico <= most && pico % PICO_PER_CENT === 0n) return { micro: toWholeMicro(pico) };
  } else if (/\d/.test(text)) return read;
  return { wrong: `Enter an amount from ${formatExactDollars(least)} to ${formatExactDollars(most)}, in whole cents.` };
}

/** The value of an input field, for example "5.00". */
export const formatAmountForInput = (micro: string): string => formatDollarsForInput(parseMicro(micro));
