/** Amounts that are typed in dollars, held to the API's bounds before they are sent. */
import { exactDollars, parseMicro, typedDollars, wholeMicro } from "../../money.ts";
import { readDollars } from "../../typed-dollars.ts";

const PICO_PER_CENT = 10_000_000_000n;

export interface Bounds {
  least: bigint;
  most: bigint;
}

const dollars = (amount: number): bigint => BigInt(amount) * 100n * PICO_PER_CENT;

/** What one purchase can be of. */
export const PURCHASE: Bounds = { least: dollars(5), most: dollars(5_000) };
/** A mark below which something happens. */
export const MARK: Bounds = { least: PICO_PER_CENT, most: dollars(1_000_000) };
export const MONTH: Bounds = { least: PURCHASE.least, most: MARK.most };

/** Microdollars as the API takes them, or what is wrong with the text. */
export function readAmount(text: string, { least, most }: Bounds): { micro: string } | { wrong: string } {
  const read = readDollars(text);
  if ("pico" in read) {
    const { pico } = read;
    if (pico >= least && pico <= most && pico % PICO_PER_CENT === 0n) return { micro: wholeMicro(pico) };
  } else if (/\d/.test(text)) return read;
  return { wrong: `Enter an amount from ${exactDollars(least)} to ${exactDollars(most)}, in whole cents.` };
}

/** "5.00": as it is typed. */
export const typed = (micro: string): string => typedDollars(parseMicro(micro));
