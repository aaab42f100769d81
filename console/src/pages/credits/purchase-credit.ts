/** Finds the credit of a purchase after the return from the payment provider. */
import type { LedgerEntry } from "../../api/answer-types.ts";

/** The statement line that credits this checkout. Its reason contains the checkout's ID: `pack_20 bought (pay_…)`. */
export const findPurchaseCredit = (lines: LedgerEntry[], checkoutId: string): LedgerEntry | undefined =>
  lines.find(({ kind, reason }) => kind === "purchase" && reason?.includes(`(${checkoutId})`) === true);
