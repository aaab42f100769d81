/** The search of the accounts as it stands in the address bar. */
import type { AccountKind } from "../../../api/types.ts";

export interface AccountsSearch {
  q?: string;
  kind?: AccountKind;
  /** The account whose details are open. */
  account?: string;
}

export function readAccountsSearch({ q, kind, account }: Record<string, unknown>): AccountsSearch {
  // The router reads what looks like a number as one.
  const text = typeof q === "number" ? String(q) : q;
  return {
    ...(typeof text === "string" && text !== "" && { q: text }),
    ...((kind === "builder" || kind === "host") && { kind }),
    ...(typeof account === "string" && { account }),
  };
}
