/** The state of a purchase after the return from the payment provider. */
import type { LedgerEntry } from "../../api/types.ts";

/** The line of the statement that credits this checkout: its words name it, `pack_20 bought (pay_…)`. */
export const creditOf = (lines: LedgerEntry[], checkoutId: string): LedgerEntry | undefined =>
  lines.find(({ kind, reason }) => kind === "purchase" && reason?.includes(`(${checkoutId})`) === true);
