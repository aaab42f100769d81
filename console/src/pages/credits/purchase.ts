/** The state of a purchase after the return from the payment provider. */
import type { LedgerEntry } from "../../api/types.ts";

/** The statement line with the credit of this checkout, whose reason names it: `pack_20 bought (pay_…)`. */
export const creditOf = (lines: LedgerEntry[], checkoutId: string): LedgerEntry | undefined =>
  lines.find(({ kind, reason }) => kind === "purchase" && reason?.includes(`(${checkoutId})`) === true);
