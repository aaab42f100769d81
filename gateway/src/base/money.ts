/**
 * Money is a whole number of picodollars. A price in microdollars per million tokens equals the price in picodollars
 * per token, so `tokens × price` needs no rounding. Only amounts that an API shows in microdollars are rounded, by the
 * functions below.
 */
export type Pico = bigint & { readonly __pico: true };

export const PICO_PER_MICRO = 1_000_000n;
export const PICO_PER_DOLLAR = 1_000_000_000_000n;

export const pico = (amount: bigint): Pico => amount as Pico;
export const ZERO = pico(0n);
export const dollars = (amount: number): Pico => pico(BigInt(amount) * PICO_PER_DOLLAR);

export const computeCost = (tokens: number, pricePerToken: Pico): Pico => pico(BigInt(tokens) * pricePerToken);

/** Rounds up to microdollars, for amounts to pay. */
export function ceilMicro(amount: Pico): bigint {
  const whole = amount / PICO_PER_MICRO;
  return amount > 0n && amount % PICO_PER_MICRO !== 0n ? whole + 1n : whole;
}

/** Rounds down to microdollars, for balances. */
export function roundDownToMicro(amount: Pico): bigint {
  const whole = amount / PICO_PER_MICRO;
  return amount < 0n && amount % PICO_PER_MICRO !== 0n ? whole - 1n : whole;
}

/** Parses microdollars with up to six decimals. */
export function parseMicroAsPico(text: string): Pico {
  const [whole = "", fraction = ""] = text.split(".");
  return pico(BigInt(whole + fraction.padEnd(6, "0")));
}

/** The exact amount in microdollars with six decimals, such as `"9830.400000"`. */
export function formatExactMicrodollars(amount: Pico): string {
  const sign = amount < 0n ? "-" : "";
  const digits = (amount < 0n ? -amount : amount).toString().padStart(7, "0");
  return `${sign}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/**
 * The percentage of each charge that the serving host is paid, rounded down. The platform keeps the rest. Defined only
 * here: the published rates and the database's `host_share` are created from it.
 */
export const HOST_SHARE_PERCENT = 70;
