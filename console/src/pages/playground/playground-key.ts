/** The key that the playground calls with: kept in this tab alone, for the account it was given for. */
import { useState } from "react";

const STORED_AS = "tollgate.playground";

interface Kept {
  account: string;
  key: string;
}

export function usePlaygroundKey(accountId: string): [string | undefined, (key: string | undefined) => void] {
  const [kept, setKept] = useState(readKept);
  const keep = (key: string | undefined): void => {
    const next = key === undefined ? undefined : { account: accountId, key };
    if (next === undefined) sessionStorage.removeItem(STORED_AS);
    else sessionStorage.setItem(STORED_AS, JSON.stringify(next));
    setKept(next);
  };
  // Another account was chosen meanwhile: its requests must not be paid by this one's key.
  return [kept?.account === accountId ? kept.key : undefined, keep];
}

function readKept(): Kept | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(STORED_AS) ?? "null") as Partial<Kept> | null;
    return typeof kept?.account === "string" && typeof kept.key === "string"
      ? { account: kept.account, key: kept.key }
      : undefined;
  } catch {
    // Somebody else's text under our name.
    return undefined;
  }
}

/** How it begins: enough to recognise it, and no secret. */
export const startOfKey = (key: string): string => /^tsk_live_[^_]+/.exec(key)?.[0] ?? key.slice(0, 4);
