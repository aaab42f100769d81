/**
 * Live figures of the builder's account. Events from the stream update the query cache that pages read. The stream is
 * closed while the page is hidden.
 */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ACCOUNT_HEADER } from "../api/account-header.ts";
import type { Balance, LiveRequests } from "../api/answer-types.ts";
import { findAccountIdForPath } from "../api/chosen-account.ts";
import type { ServerEvent } from "../api/event-stream.ts";
import { gatewayReachability } from "../api/gateway-requests.ts";
import { openSharedEventStream } from "../api/shared-event-stream.ts";
import { balanceQuery } from "./balance-and-usage.ts";
import { useOutage } from "./outage.ts";
import { countLoadedPages } from "./pagination.ts";
import { callForbiddenHandler, callSignedOutHandler, queryClient, STREAM_OPEN_QUERY_KEY } from "./query-client.ts";
import { meQuery } from "./signed-in-session.ts";

const LIVE_REQUESTS = ["live requests"];
const READ_AGAIN_MS = 4_000;
const OF_REQUESTS =
  /^(requests recent|requests list|requests totals|requests histogram|performance|usage|keys|statement|credits)/;

interface EventStreamOptions {
  enabled?: boolean;
  /** The account whose events the stream sends. A change of account opens a new stream. */
  of?: string | undefined;
}

/**
 * Receives a stream of the API while the page is open and visible. Pages of one browser share the stream. Returns whether
 * it is open.
 */
export function useEventStream(
  path: string,
  on: (event: ServerEvent) => void,
  { enabled = true, of }: EventStreamOptions = {},
): boolean {
  const [open, setOpen] = useState(false);
  const seen = useSeen();
  // The stream is closed during an outage, and a new one opens when the gateway is back.
  const away = useOutage() !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `on` closes over nothing that changes; `of` is in what `actingFor` gives
  useEffect(() => {
    if (!enabled || !seen || away) return;
    const account = findAccountIdForPath(path);
    let wasOpen = false;
    const close = openSharedEventStream({
      owner: `${queryClient.getQueryData(meQuery.queryKey)?.identity.id} ${of}`,
      url: path,
      headers: account === undefined ? {} : { [ACCOUNT_HEADER]: account },
      on,
      onState: (now) => {
        setOpen(now);
        if (now) gatewayReachability.answered();
        else gatewayReachability.missed();
        // The gateway also ends a stream when the person's role changes, so the page reads the permissions again.
        if (now && wasOpen) callForbiddenHandler();
        wasOpen ||= now;
      },
      onRefused: (status) => {
        setOpen(false);
        if (status === 401) callSignedOutHandler();
        else callForbiddenHandler();
      },
    });
    return () => {
      close();
      setOpen(false);
    };
  }, [path, enabled, seen, of, away]);
  return open;
}

/** Opens the builder's stream. Called once, by the layout. */
export function useBuilderEventStream(accountId: string | undefined): void {
  const open = useEventStream("/console/api/live", takeBuilderEvent, {
    enabled: accountId !== undefined,
    of: accountId,
  });
  useEffect(() => {
    queryClient.setQueryData(STREAM_OPEN_QUERY_KEY, open);
  }, [open]);
}

function takeBuilderEvent({ event, data }: ServerEvent): void {
  if (event === "balance") queryClient.setQueryData(balanceQuery.queryKey, JSON.parse(data) as Balance);
  if (event !== "requests") return;
  const now = JSON.parse(data) as LiveRequests;
  const before = queryClient.getQueryData<LiveRequests>(LIVE_REQUESTS);
  queryClient.setQueryData(LIVE_REQUESTS, now);
  if (before !== undefined && before.latest !== now.latest) readAgainSoon();
}

let waiting = false;
let readAt = 0;

/** After a request ends, refreshes visible sums and lists, at most once every few seconds. */
function readAgainSoon(): void {
  if (waiting) return;
  waiting = true;
  setTimeout(readAgain, Math.max(0, readAt + READ_AGAIN_MS - Date.now()));
}

function readAgain(): void {
  waiting = false;
  readAt = Date.now();
  const concerned = queryClient
    .getQueryCache()
    .findAll({ predicate: ({ queryKey }) => OF_REQUESTS.test(keyName(queryKey)) });
  for (const { queryKey, state } of concerned) {
    // A list with several loaded pages is not refreshed now, because it has a longer refresh interval of its own.
    const refetchType = countLoadedPages(state.data) > 1 ? "none" : "active";
    void queryClient.invalidateQueries({ queryKey, exact: true, refetchType });
  }
}

const keyName = (queryKey: readonly unknown[]): string => queryKey.slice(0, 2).map(String).join(" ");

/** The stream's latest value; undefined until the first event. */
export function useLiveRequests(): LiveRequests | undefined {
  return useQuery<LiveRequests>({ queryKey: LIVE_REQUESTS, enabled: false }).data;
}

/** Whether the stream is open. While it is closed, its latest value may be outdated. */
export function useIsStreamOpen(): boolean {
  return useQuery<boolean>({ queryKey: STREAM_OPEN_QUERY_KEY, enabled: false }).data === true;
}

function useSeen(): boolean {
  const [seen, setSeen] = useState(!document.hidden);
  useEffect(() => {
    const look = (): void => setSeen(!document.hidden);
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return seen;
}
