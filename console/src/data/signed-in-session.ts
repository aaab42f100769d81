/** The signed-in person and their accounts; signing in and out. */
import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import type { Account, AccountKind, Me, Permission } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import {
  chooseAccount,
  findChosenAccount,
  onAccountChosen,
  readStoredAccountChoice,
  setOwnedAccounts,
} from "../api/chosen-account.ts";
import { GatewayUnreachable } from "../api/gateway-requests.ts";
import { setLocale } from "../locale.ts";
import { clearStorageExceptInvitation } from "./invitation-token.ts";
import { findPermissionChange } from "./permission-change.ts";
import { callSignedOutHandler, queryClient, STREAM_OPEN_QUERY_KEY } from "./query-client.ts";

const STORED_AS = "tollgate.me";

/** Null without a session. `get-session` is used because it reports that without an error, unlike `me`. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  staleTime: 60_000,
  // The live stream reports changed roles (data/live-event-stream.ts). Without one, as for hosts, the session is read more often.
  refetchInterval: () => (queryClient.getQueryData(STREAM_OPEN_QUERY_KEY) === true ? 60_000 : 10_000),
  refetchOnWindowFocus: "always",
  queryFn: async (): Promise<Me | null> => {
    const before = queryClient.getQueryData<Me | null>(["me"]);
    const { identity, accounts } = await callConsoleApi("GET /console/api/auth/get-session").catch((error: unknown) => {
      const kept = before === undefined && error instanceof GatewayUnreachable ? rememberedMe() : undefined;
      if (kept === undefined) throw error;
      return kept;
    });
    if (identity === null) {
      if (before == null) return null;
      // The person signed out in another tab. The page keeps its content until the person leaves it.
      callSignedOutHandler();
      return before;
    }
    keepFor(identity.id);
    // Another person signed in with this browser, so the page is reloaded without the previous person's data.
    if (before != null && before.identity.id !== identity.id) reloadToSignIn({});
    setOwnedAccounts(accounts);
    setLocale(identity);
    rememberMe({ identity, accounts });
    compared ??= { identity, accounts };
    return { identity, accounts };
  },
});

/**
 * Stores the person in this tab while signed in, so that a page reloaded during an outage still shows its navigation.
 * This grants no access: the gateway checks the session itself.
 */
function rememberMe(me: Me): void {
  inStorage(() => sessionStorage.setItem(STORED_AS, JSON.stringify(me)));
}

function rememberedMe(): Me | undefined {
  const kept = inStorage(() => sessionStorage.getItem(STORED_AS)) ?? null;
  return kept === null ? undefined : (JSON.parse(kept) as Me);
}

const forgetMe = (): void => inStorage(() => sessionStorage.removeItem(STORED_AS));

/** Accesses the browser's storage. Returns undefined if it is blocked or full. Pages work without it. */
function inStorage<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

export const signInMethodsQuery = queryOptions({
  queryKey: ["sign-in methods"],
  staleTime: Number.POSITIVE_INFINITY,
  refetchInterval: false,
  queryFn: () => callConsoleApi("GET /console/api/auth/methods"),
});

/** The signed-in person, for pages that the router opens only with a session. */
export function useMe(): Me {
  const { data } = useSuspenseQuery(meQuery);
  if (data === null) throw new Error("not signed in");
  return data;
}

/** The account of this kind for which the page makes its calls. */
export function useChosenAccount(kind: AccountKind): Account | undefined {
  const { data } = useQuery(meQuery);
  useSyncExternalStore(onAccountChosen, readStoredAccountChoice);
  return findChosenAccount(kind, data?.accounts ?? []);
}

/** `may("work")`: whether the person's role in the chosen account allows the action. The API checks this again. */
export function usePermissions(kind: AccountKind): (need: Permission) => boolean {
  const account = useChosenAccount(kind);
  return (need) => account?.may.includes(need) ?? false;
}

/** Shows another account. Clears the cache, because its data belongs to the previous account. */
export async function switchAccount(account: Account): Promise<void> {
  chooseAccount(account);
  await resetCache();
}

export const resetCache = (): Promise<void> =>
  queryClient.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });

/**
 * The permissions at the last comparison (`refetchPermissions`). Kept apart from the cache, because other requests
 * update the cache without a comparison.
 */
let compared: Me | null | undefined;

/** Reads permissions again; returns what changed since the last comparison. */
export async function refetchPermissions(): Promise<ReturnType<typeof findPermissionChange>> {
  await queryClient.refetchQueries({ queryKey: meQuery.queryKey });
  const [before, now] = [compared, queryClient.getQueryData(meQuery.queryKey)];
  compared = now;
  return before == null || now == null ? undefined : findPermissionChange(before, now);
}

/** After sign-in, sign-out or a new account: reads the session again and clears everything else from the cache. */
export async function refreshSession(): Promise<Me | null> {
  // The cache is cleared only after the accounts are known, because pages then repeat their requests, which name an
  // account.
  compared = await queryClient
    .fetchQuery({ ...meQuery, staleTime: 0 })
    .finally(() => queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" }));
  return compared;
}

let leaving = false;
// Resets `leaving`, because the browser may later restore this page from its back-forward cache.
addEventListener("pagehide", () => {
  leaving = false;
});

/** Whether the person is signing out. Requests in flight then fail, and their errors are ignored. */
export const isSigningOut = (): boolean => leaving;

export async function signOut(): Promise<void> {
  leaving = true;
  try {
    await callConsoleApi("POST /console/api/auth/sign-out");
  } catch (error) {
    leaving = false;
    throw error;
  }
  forgetTab();
  reloadToSignIn({});
}

const PERSON = "tollgate.person";

/**
 * Marks this tab's stored data, such as the playground's conversation, as belonging to this person. The data outlives
 * the session, but not a sign-out.
 */
const keepFor = (identityId: string): void =>
  inStorage(() => {
    if (sessionStorage.getItem(PERSON) === identityId) return;
    clearStorageExceptInvitation(() => sessionStorage.clear());
    sessionStorage.setItem(PERSON, identityId);
  });

/** Whether this tab's stored data still belongs to the person. Throws if the browser blocks its storage. */
export const isTabOwnedBy = (identityId: string): boolean => sessionStorage.getItem(PERSON) === identityId;

const forgetTab = (): void => inStorage(() => clearStorageExceptInvitation(() => sessionStorage.clear()));

/** Reloads to the sign-in page, so that no data of the previous person stays in memory. */
export function reloadToSignIn(search: { next?: string }): void {
  // Only the stored identity is removed. The tab's other data is kept until the person signs in again.
  forgetMe();
  const query = new URLSearchParams(search).toString();
  location.assign(`/console/sign-in${query === "" ? "" : `?${query}`}`);
}
