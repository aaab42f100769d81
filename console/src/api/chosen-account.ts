/**
 * The account for which console API calls are made. A person with several accounts of a kind (builder, host) chooses
 * one of each. The choice is stored in this browser, and sent only if there are several.
 */
import type { Account, AccountKind } from "./answer-types.ts";

const STORED_AS = "tollgate.acting";
/** The console API's routes for hosts. All other routes are for builder accounts, or need no account. */
const HOST_PATHS = /^\/console\/api\/(host-tokens|nodes|node-models|earnings)\b/;

let accounts: Account[] = [];
const listeners = new Set<() => void>();

export function setOwnedAccounts(owned: Account[]): void {
  accounts = owned;
}

/** The account of this kind that the pages show: the chosen one, otherwise the first that is not suspended. */
export function findChosenAccount(kind: AccountKind, owned: Account[] = accounts): Account | undefined {
  const usable = owned.filter((account) => account.kind === kind && !account.suspended);
  return usable.find(({ id }) => id === chosen()[kind]) ?? usable[0];
}

export function chooseAccount({ id, kind }: Account): void {
  localStorage.setItem(STORED_AS, JSON.stringify({ ...chosen(), [kind]: id }));
  for (const listener of listeners) listener();
}

/** Calls the listener when the person chooses another account. Returns a function that removes the listener. */
export function onAccountChosen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The stored choice as text, which changes whenever the person chooses another account. */
export const readStoredAccountChoice = (): string => localStorage.getItem(STORED_AS) ?? "";

export function findAccountIdForPath(path: string): string | undefined {
  const kind: AccountKind = HOST_PATHS.test(path) ? "host" : "builder";
  const several = accounts.filter((account) => account.kind === kind).length > 1;
  return several ? findChosenAccount(kind)?.id : undefined;
}

function chosen(): Partial<Record<AccountKind, string>> {
  try {
    const kept: unknown = JSON.parse(readStoredAccountChoice() || "{}");
    return typeof kept === "object" && kept !== null ? kept : {};
  } catch {
    // The stored text is not valid JSON, so the first account is used.
    return {};
  }
}
