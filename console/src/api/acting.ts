/**
 * The account that a call acts for. A person with several accounts of a kind chooses one of each; the choice is stored in this browser and
 * sent only if there are several.
 */
import type { Account, AccountKind } from "./types.ts";

const STORED_AS = "tollgate.acting";
/** The host's side of the console API; everything else acts for a builder, or for nobody. */
const HOST_PATHS = /^\/console\/api\/(host-tokens|nodes|node-models|earnings)\b/;

let accounts: Account[] = [];
const listeners = new Set<() => void>();

export function knowAccounts(owned: Account[]): void {
  accounts = owned;
}

/** The account of this kind that the pages show: the chosen one, else the first that is not suspended. */
export function actingAccount(kind: AccountKind, owned: Account[] = accounts): Account | undefined {
  const usable = owned.filter((account) => account.kind === kind && !account.suspended);
  return usable.find(({ id }) => id === chosen()[kind]) ?? usable[0];
}

export function actFor({ id, kind }: Account): void {
  localStorage.setItem(STORED_AS, JSON.stringify({ ...chosen(), [kind]: id }));
  for (const listener of listeners) listener();
}

/** Calls when another account was chosen. Returns what ends that. */
export function onActing(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Text that is another when the choice is. */
export const actingChoice = (): string => localStorage.getItem(STORED_AS) ?? "";

export function actingFor(path: string): string | undefined {
  const kind: AccountKind = HOST_PATHS.test(path) ? "host" : "builder";
  const several = accounts.filter((account) => account.kind === kind).length > 1;
  return several ? actingAccount(kind)?.id : undefined;
}

function chosen(): Partial<Record<AccountKind, string>> {
  try {
    const kept: unknown = JSON.parse(actingChoice() || "{}");
    return typeof kept === "object" && kept !== null ? kept : {};
  } catch {
    // Somebody else's text under our name: the first account then.
    return {};
  }
}
