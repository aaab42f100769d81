/** An amount of the API: short to read, exact on hover. */
import { exactDollars, parseMicro, type Rounding, shortDollars } from "../money.ts";

interface MoneyProps {
  /** Microdollars as the API writes them, or picodollars. */
  of: string | bigint;
  /** A balance is never shown higher than it is, a charge never lower. */
  as?: "charge" | "balance";
  /** Every digit at once. */
  exact?: boolean;
}

export function Money({ of, as = "charge", exact = false }: MoneyProps) {
  const pico = typeof of === "string" ? parseMicro(of) : of;
  const rounding: Rounding = as === "charge" ? "up" : "down";
  const whole = exactDollars(pico);
  return (
    <data value={whole} title={whole}>
      {exact ? whole : shortDollars(pico, rounding)}
    </data>
  );
}
