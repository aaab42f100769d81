/** Amounts as the console writes them, and as the ledger has them: in picodollars. */

/** "$0.00000432" as it stands on a page. */
export function picodollars(text: string): bigint {
  const [, whole = "", part = ""] = /^\$([\d,]+)\.(\d+)$/.exec(text.trim()) ?? [];
  return BigInt(`${whole.replaceAll(",", "")}${part.padEnd(12, "0")}`);
}

/** All digits that are not zero, and at least cents. */
export function dollars(pico: bigint): string {
  const digits = String(pico).padStart(13, "0");
  return `$${digits.slice(0, -12)}.${digits.slice(-12).replace(/0{1,10}$/, "")}`;
}
