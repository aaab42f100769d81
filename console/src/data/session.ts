/** The signed-in person and their accounts; signing in and out. */
import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { actFor, actingAccount, actingChoice, knowAccounts, onActing } from "../api/acting.ts";
import { call } from "../api/client.ts";
import { Unreachable } from "../api/gateway.ts";
import type { Account, AccountKind, Me, Need } from "../api/types.ts";
import { writeAs } from "../locale.ts";
import { keepingToken } from "./joining.ts";
import { LIVE_OPEN, noticeSignedOut, queryClient } from "./query-client.ts";
import { changeOfRights } from "./rights.ts";

const STORED_AS = "tollgate.me";

/** Null without a session: `get-session` reports that without an error, unlike `me`. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  staleTime: 60_000,
  // Without a live stream, which reports changes of roles (data/live.ts), the session is read more often; hosts have
  // none.
  refetchInterval: () => (queryClient.getQueryData(LIVE_OPEN) === true ? 60_000 : 10_000),
  refetchOnWindowFocus: "always",
  queryFn: async (): Promise<Me | null> => {
    const before = queryClient.getQueryData<Me | null>(["me"]);
    const { identity, accounts } = await call("GET /console/api/auth/get-session").catch((error: unknown) => {
      const kept = before === undefined && error instanceof Unreachable ? rememberedMe() : undefined;
      if (kept === undefined) throw error;
      return kept;
    });
    if (identity === null) {
      if (before == null) return null;
      // The person signed out elsewhere. The page keeps its content until it is left.
      noticeSignedOut();
      return before;
    }
    keepFor(identity.id);
    // Another person signed in with this browser, so nothing of the previous one may remain.
    if (before != null && before.identity.id !== identity.id) leave({});
    knowAccounts(accounts);
    writeAs(identity);
    rememberMe({ identity, accounts });
    compared ??= { identity, accounts };
    return { identity, accounts };
  },
});

/**
 * Stores the person in this tab while signed in, so that a page reloaded during an outage still has its navigation. It
 * gives no access: the gateway checks the session itself.
 */
function rememberMe(me: Me): void {
  inStorage(() => sessionStorage.setItem(STORED_AS, JSON.stringify(me)));
}

function rememberedMe(): Me | undefined {
  const kept = inStorage(() => sessionStorage.getItem(STORED_AS)) ?? null;
  return kept === null ? undefined : (JSON.parse(kept) as Me);
}

const forgetMe = (): void => inStorage(() => sessionStorage.removeItem(STORED_AS));

/** Returns undefined if the browser blocks its storage or has no room; pages work without it. */
function inStorage<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

export const methodsQuery = queryOptions({
  queryKey: ["sign-in methods"],
  staleTime: Number.POSITIVE_INFINITY,
  refetchInterval: false,
  queryFn: () => call("GET /console/api/auth/methods"),
});

/** For pages behind the sign-in, where the router has ensured that there is a session. */
export function useMe(): Me {
  const { data } = useSuspenseQuery(meQuery);
  if (data === null) throw new Error("not signed in");
  return data;
}

/** The account of this kind that the page acts for. */
export function useActing(kind: AccountKind): Account | undefined {
  const { data } = useQuery(meQuery);
  useSyncExternalStore(onActing, actingChoice);
  return actingAccount(kind, data?.accounts ?? []);
}

/** `may("work")`: whether the person's role in the acting account allows it. The API decides in the end. */
export function usePermissions(kind: AccountKind): (need: Need) => boolean {
  const account = useActing(kind);
  return (need) => account?.may.includes(need) ?? false;
}

/** Everything shown so far belonged to another account. */
export async function switchAccount(account: Account): Promise<void> {
  actFor(account);
  await forgetAll();
}

export const forgetAll = (): Promise<void> =>
  queryClient.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });

/** The permissions at the last comparison, so that requests made for other reasons hide no change. */
let compared: Me | null | undefined;

/** Reads permissions again; returns what changed since the last comparison. */
export async function readRightsAgain(): Promise<ReturnType<typeof changeOfRights>> {
  await queryClient.refetchQueries({ queryKey: meQuery.queryKey });
  const [before, now] = [compared, queryClient.getQueryData(meQuery.queryKey)];
  compared = now;
  return before == null || now == null ? undefined : changeOfRights(before, now);
}

/** After sign-in, sign-out or a new account: reads the session again and clears everything else from the cache. */
export async function refreshSession(): Promise<Me | null> {
  // The cache is cleared only after the accounts are known, because pages then repeat requests that name the account.
  compared = await queryClient
    .fetchQuery({ ...meQuery, staleTime: 0 })
    .finally(() => queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" }));
  return compared;
}

let leaving = false;
// A page that the browser restores from its cache is no longer being left.
addEventListener("pagehide", () => {
  leaving = false;
});

/** Whether the person is signing out: requests in flight are refused then, which needs no reaction. */
export const isLeaving = (): boolean => leaving;

export async function signOut(): Promise<void> {
  leaving = true;
  try {
    await call("POST /console/api/auth/sign-out");
  } catch (error) {
    leaving = false;
    throw error;
  }
  forgetTab();
  leave({});
}

const PERSON = "tollgate.person";

/**
 * Data in this tab's storage (the playground's conversation) belongs to one person: it outlives their session, but not
 * a sign-out.
 */
const keepFor = (identityId: string): void =>
  inStorage(() => {
    if (sessionStorage.getItem(PERSON) === identityId) return;
    keepingToken(() => sessionStorage.clear());
    sessionStorage.setItem(PERSON, identityId);
  });

/** Whether this tab's stored data still belongs to the person. Throws if the browser blocks its storage. */
export const isTabOf = (identityId: string): boolean => sessionStorage.getItem(PERSON) === identityId;

const forgetTab = (): void => inStorage(() => keepingToken(() => sessionStorage.clear()));

/** Loads the sign-in page anew, so that nothing of the previous person stays in memory. */
export function leave(search: { next?: string }): void {
  // Only the stored identity is removed; the tab's other data stays for the person's return.
  forgetMe();
  const query = new URLSearchParams(search).toString();
  location.assign(`/console/sign-in${query === "" ? "" : `?${query}`}`);
}
