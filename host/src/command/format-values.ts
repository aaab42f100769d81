/** Formats numbers for display. Amounts of money are decimal text, never floats. */

const MICRO_DIGITS = 6;
const CENTS_DIGITS = 2;

/** Formats millionths of a dollar as exact dollars: `"123.450000"` → `$0.00012345`. */
export function formatDollars(micro: string): string {
  const negative = micro.startsWith("-");
  const [whole = "0", fraction = ""] = micro.replace("-", "").split(".");
  const digits = whole.padStart(MICRO_DIGITS + 1, "0");
  const cut = digits.length - MICRO_DIGITS;
  const dollarPart = digits.slice(0, cut).replace(/^0+(?=\d)/, "");
  const rest = `${digits.slice(cut)}${fraction}`.replace(/0+$/, "").padEnd(CENTS_DIGITS, "0");
  return `${negative ? "-" : ""}$${grouped(dollarPart)}.${rest}`;
}

/** Formats amounts with the same number of decimals, so that their decimal points align in a column. */
export function formatDollarColumn(amounts: readonly (string | null)[]): string[] {
  const texts = amounts.map((amount) => (amount === null ? null : formatDollars(amount)));
  const placesOf = (text: string): number => text.length - text.indexOf(".") - 1;
  const places = Math.max(0, ...texts.flatMap((text) => (text === null ? [] : placesOf(text))));
  return texts.map((text) => (text === null ? `–${" ".repeat(places)}` : text + "0".repeat(places - placesOf(text))));
}

/** Formats a share as `42 %` or `0.7 %`, and null as a dash. */
export function formatPercent(share: number | null): string {
  if (share === null) return "–";
  const value = share * 100;
  return `${value > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}

/** Adds amounts exactly and returns six decimals. */
export function sumMicro(amounts: readonly string[]): string {
  const pico = amounts.reduce((sum, amount) => sum + picoOf(amount), 0n);
  const negative = pico < 0n;
  const digits = String(negative ? -pico : pico).padStart(MICRO_DIGITS + 1, "0");
  return `${negative ? "-" : ""}${digits.slice(0, -MICRO_DIGITS)}.${digits.slice(-MICRO_DIGITS)}`;
}

function picoOf(micro: string): bigint {
  const negative = micro.startsWith("-");
  const [whole = "0", fraction = ""] = micro.replace("-", "").split(".");
  const pico = BigInt(whole + fraction.slice(0, MICRO_DIGITS).padEnd(MICRO_DIGITS, "0"));
  return negative ? -pico : pico;
}

/** Formats a number as `12,345`. */
export function formatCount(value: number): string {
  return grouped(String(Math.round(value)));
}

function grouped(digits: string): string {
  return digits.replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** Adds a noun in singular or plural: `1 request`, `2 requests`. */
export function formatCounted(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? "" : "s"}`;
}

export function formatMilliseconds(ms: number): string {
  if (ms >= 10_000) return `${Math.round(ms / 1000)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

export function formatPerSecond(value: number): string {
  return `${value < 100 ? value.toFixed(1) : formatCount(value)} tokens/s`;
}

const GIB = 1024 ** 3;

/** Formats bytes as `15.6 GiB`. */
export function formatGibibytes(bytes: number): string {
  return `${(bytes / GIB).toFixed(bytes < 100 * GIB ? 1 : 0)} GiB`;
}

/** Formats a time as `2026-11-15 06:50:22` in UTC, because the platform's days are in UTC. */
export function formatUtcTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}

/** Formats a duration as `3 min 12 s` or `2 h 5 min`. */
export function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The reason why a node takes fewer requests at once than its engine allows. */
export const REDUCED_SLOTS_REASON = "its pauses between tokens were too long";
