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

/** Null when nobody is signed in: `get-session` says so without an error, which `me` does not. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  staleTime: 60_000,
  // Where no live stream tells of a change of role (data/live.ts), as for hosts, it is asked for more often.
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
      // Signed out elsewhere. The page is about to be left, and keeps its face until then.
      noticeSignedOut();
      return before;
    }
    keepFor(identity.id);
    // Somebody else signed in with this browser: nothing of the one before stays.
    if (before != null && before.identity.id !== identity.id) leave({});
    knowAccounts(accounts);
    writeAs(identity);
    rememberMe({ identity, accounts });
    compared ??= { identity, accounts };
    return { identity, accounts };
  },
});

/**
 * Who is here, kept in this tab for as long as they are: a page that is loaded again while the gateway is away still has its
 * navigation. It opens nothing; the gateway asks for the session itself.
 */
function rememberMe(me: Me): void {
  inStorage(() => sessionStorage.setItem(STORED_AS, JSON.stringify(me)));
}

function rememberedMe(): Me | undefined {
  const kept = inStorage(() => sessionStorage.getItem(STORED_AS)) ?? null;
  return kept === null ? undefined : (JSON.parse(kept) as Me);
}

const forgetMe = (): void => inStorage(() => sessionStorage.removeItem(STORED_AS));

/** A browser that blocks its storage, or has no room, has nothing of anybody's: the page works without. */
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

/** For pages behind the sign-in, where the router has made sure that somebody is. */
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

/** `may("work")`: whether their role in the account that the page acts for allows it. The API has the last word. */
export function useMay(kind: AccountKind): (need: Need) => boolean {
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

/** What they could do when it was last compared: questions asked meanwhile for other reasons hide no change. */
let compared: Me | null | undefined;

/** What changed of what they may do since it was last asked for here, or since they came. */
export async function readRightsAgain(): Promise<ReturnType<typeof changeOfRights>> {
  await queryClient.refetchQueries({ queryKey: meQuery.queryKey });
  const [before, now] = [compared, queryClient.getQueryData(meQuery.queryKey)];
  compared = now;
  return before == null || now == null ? undefined : changeOfRights(before, now);
}

/** After a sign-in, a sign-out or a new account: asks again who this is, and forgets everything else. */
export async function refreshSession(): Promise<Me | null> {
  // Forgotten only then: what pages ask for again names the account, which is known once the accounts are.
  compared = await queryClient
    .fetchQuery({ ...meQuery, staleTime: 0 })
    .finally(() => queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" }));
  return compared;
}

let leaving = false;
// A page that the browser keeps and shows again is not on its way out any more.
addEventListener("pagehide", () => {
  leaving = false;
});

/** Whether they asked to leave: that a question under way is refused then is no news, and leads nowhere. */
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

/** What this tab keeps (the playground's conversation) is one person's: it outlives their session, but not their leaving. */
const keepFor = (identityId: string): void =>
  inStorage(() => {
    if (sessionStorage.getItem(PERSON) === identityId) return;
    keepingToken(() => sessionStorage.clear());
    sessionStorage.setItem(PERSON, identityId);
  });

/** Whether what this tab keeps is still theirs. Throws where the browser blocks its storage. */
export const isTabOf = (identityId: string): boolean => sessionStorage.getItem(PERSON) === identityId;

const forgetTab = (): void => inStorage(() => keepingToken(() => sessionStorage.clear()));

/** To the sign-in page, by loading it anew: nothing of whoever was here stays in memory. */
export function leave(search: { next?: string }): void {
  // Who was here; what else this tab keeps is theirs when they come back.
  forgetMe();
  const query = new URLSearchParams(search).toString();
  location.assign(`/console/sign-in${query === "" ? "" : `?${query}`}`);
}
