/** Who is signed in and what they own; signing in and out. */
import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { actFor, actingAccount, actingChoice, knowAccounts, onActing } from "../api/acting.ts";
import { call } from "../api/client.ts";
import { Unreachable } from "../api/gateway.ts";
import type { Account, AccountKind, Me } from "../api/types.ts";
import { noticeSignedOut, queryClient } from "./query-client.ts";

const STORED_AS = "tollgate.me";

/** Null when nobody is signed in: `get-session` says so without an error, which `me` does not. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  staleTime: 60_000,
  refetchInterval: 60_000,
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
      // Signed out elsewhere. The page is about to be left, and keeps its face until then.
      noticeSignedOut();
      return before;
    }
    // Somebody else signed in with this browser: nothing of the one before stays.
    if (before != null && before.identity.id !== identity.id) leave({});
    knowAccounts(accounts);
    rememberMe({ identity, accounts });
    return { identity, accounts };
  },
});

/**
 * Who is here, kept in this tab for as long as they are: a page that is loaded again while the gateway is away still has its
 * navigation. It opens nothing; the gateway asks for the session itself.
 */
function rememberMe(me: Me): void {
  sessionStorage.setItem(STORED_AS, JSON.stringify(me));
}

function rememberedMe(): Me | undefined {
  const kept = sessionStorage.getItem(STORED_AS);
  return kept === null ? undefined : (JSON.parse(kept) as Me);
}

export const methodsQuery = queryOptions({
  queryKey: ["sign-in methods"],
  staleTime: Number.POSITIVE_INFINITY,
  refetchInterval: false,
  queryFn: () => call("GET /console/api/auth/methods"),
});

/** For pages behind the sign-in, where the router has made sure that somebody is. */
export function useMe(): Me {
  const { data } = useSuspenseQuery(meQuery);
  if (data === null) throw new Error("nobody is signed in");
  return data;
}

/** The account of this kind that the page acts for. */
export function useActing(kind: AccountKind): Account | undefined {
  const { data } = useQuery(meQuery);
  useSyncExternalStore(onActing, actingChoice);
  return actingAccount(kind, data?.accounts ?? []);
}

/** Everything shown so far belonged to another account. */
export async function switchAccount(account: Account): Promise<void> {
  actFor(account);
  await forgetAll();
}

export const forgetAll = (): Promise<void> =>
  queryClient.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });

/** Says whether what they may do is another than when it was last read. */
export async function readRightsAgain(): Promise<boolean> {
  const rights = (): string => {
    const me = queryClient.getQueryData(meQuery.queryKey);
    return `${me?.identity.operator} ${me?.accounts.map(({ suspended }) => suspended)}`;
  };
  const before = rights();
  await queryClient.refetchQueries({ queryKey: meQuery.queryKey });
  return rights() !== before;
}

/** After a sign-in, a sign-out or a new account: asks again who this is, and forgets everything else. */
export async function refreshSession(): Promise<Me | null> {
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
  return await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
}

export async function signOut(): Promise<void> {
  await call("POST /console/api/auth/sign-out");
  leave({});
}

/** To the sign-in page, by loading it anew: nothing of whoever was here stays in memory. */
export function leave(search: { next?: string }): void {
  // The playground's key is kept there, and who was here.
  sessionStorage.clear();
  const query = new URLSearchParams(search).toString();
  location.assign(`/console/sign-in${query === "" ? "" : `?${query}`}`);
}
