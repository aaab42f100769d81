/** Converts between amounts as the console shows them and picodollars. */

/** Parses an amount such as "$0.00000432". */
export function parseDollars(text: string): bigint {
  const [, whole = "", part = ""] = /^\$([\d,]+)\.(\d+)$/.exec(text.trim()) ?? [];
  return BigInt(`${whole.replaceAll(",", "")}${part.padEnd(12, "0")}`);
}

/** Formats an amount with all its digits, at least to cents. */
export function formatDollars(pico: bigint): string {
  const digits = String(pico).padStart(13, "0");
  return `$${digits.slice(0, -12)}.${digits.slice(-12).replace(/0{1,10}$/, "")}`;
}
