/** Formats exact amounts in dollars. */
import { PICO_PER_DOLLAR, type Pico } from "../../base/money.ts";

const CENT_DIGITS = 2;
const PICO_DIGITS = 12;

/** For example `$5.25`, `-$0.0098304`. */
export function formatDollars(amount: Pico): string {
  const size = amount < 0n ? -amount : amount;
  const fraction = (size % PICO_PER_DOLLAR).toString().padStart(PICO_DIGITS, "0").replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}$${size / PICO_PER_DOLLAR}.${fraction.padEnd(CENT_DIGITS, "0")}`;
}
