/** The account search in the URL's query parameters. */
import type { AccountSearch } from "../../../api/answer-types.ts";

export interface AccountsSearch extends AccountSearch {
  /** The account whose details are open. */
  account?: string;
}

export function readAccountsSearch({ q, kind, account }: Record<string, unknown>): AccountsSearch {
  // The router parses text that looks like a number as a number.
  const text = typeof q === "number" ? String(q) : q;
  return {
    ...(typeof text === "string" && text !== "" && { q: text }),
    ...((kind === "builder" || kind === "host") && { kind }),
    ...(typeof account === "string" && { account }),
  };
}
