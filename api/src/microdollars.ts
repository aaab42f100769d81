/** Amounts in requests: microdollars as a decimal string with up to six decimals. */
import { z } from "zod";

const DECIMAL = /^(\d{1,15})(?:\.(\d{1,6}))?$/;
const PICO_PER_MICRO = 1_000_000n;
const PICO_PER_CENT = 10_000_000_000n;

/** Converts an amount to picodollars. Undefined if the text is not an amount. */
export function parseMicroToPico(text: string): bigint | undefined {
  const [, whole, part = ""] = DECIMAL.exec(text) ?? [];
  return whole === undefined ? undefined : BigInt(whole) * PICO_PER_MICRO + BigInt(part.padEnd(6, "0"));
}

const inDollars = (cents: bigint): string => {
  const whole = String(cents / 100n).replace(/\B(?=(\d{3})+$)/g, ",");
  return cents % 100n === 0n ? `$${whole}` : `$${whole}.${String(cents % 100n).padStart(2, "0")}`;
};

/** A field for an amount between two limits in cents. `whole`: only whole cents, as payments require. */
export function MicrodollarsField({ from, to, whole = false }: { from: number; to: number; whole?: boolean }) {
  const [least, most] = [BigInt(from), BigInt(to)];
  const rule = `must be microdollars as a decimal string, ${whole ? "whole cents " : ""}from ${least * 10_000n} (${inDollars(least)}) to ${most * 10_000n} (${inDollars(most)})`;
  return z.string(rule).refine((text) => {
    const amount = parseMicroToPico(text);
    if (amount === undefined || amount < least * PICO_PER_CENT || amount > most * PICO_PER_CENT) return false;
    return !whole || amount % PICO_PER_CENT === 0n;
  }, rule);
}
