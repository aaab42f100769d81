/** The search of the accounts as it stands in the address bar. */
import type { AccountSearch } from "../../../api/types.ts";

export interface AccountsSearch extends AccountSearch {
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
