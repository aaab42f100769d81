/**
 * Live numbers of the builder's account. What the stream says goes into the cache that the pages read, so a page does not
 * know whether a number came live; while nobody looks at the page the stream is closed.
 */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { actingFor } from "../api/acting.ts";
import { openEventStream, type ServerEvent } from "../api/event-stream.ts";
import { ACCOUNT_HEADER } from "../api/fault.ts";
import type { Balance, LiveRequests } from "../api/types.ts";
import { balanceQuery } from "./money.ts";
import { noticeForbidden, noticeSignedOut, queryClient } from "./query-client.ts";

const LIVE_REQUESTS = ["live requests"];
const LIVE_OPEN = ["live open"];
const READ_AGAIN_MS = 4_000;
const SUMS = /^(requests recent|usage|keys)/;
const LONG_LISTS = /^(requests list|ledger)/;

interface EventStreamOptions {
  enabled?: boolean;
  /** Whose numbers these are: another account, another stream. */
  of?: string | undefined;
}

/** Opens a stream of the API for as long as the page is shown and seen. Returns whether it is open. */
export function useEventStream(
  path: string,
  on: (event: ServerEvent) => void,
  { enabled = true, of }: EventStreamOptions = {},
): boolean {
  const [open, setOpen] = useState(false);
  const seen = useSeen();
  // biome-ignore lint/correctness/useExhaustiveDependencies: `on` closes over nothing that changes; `of` is in what `actingFor` gives
  useEffect(() => {
    if (!enabled || !seen) return;
    const account = actingFor(path);
    const close = openEventStream({
      url: path,
      headers: account === undefined ? {} : { [ACCOUNT_HEADER]: account },
      on,
      onState: setOpen,
      onRefused: (status) => {
        setOpen(false);
        if (status === 401) noticeSignedOut();
        else noticeForbidden();
      },
    });
    return () => {
      close();
      setOpen(false);
    };
  }, [path, enabled, seen, of]);
  return open;
}

/** The builder's own stream; used once, by the layout. */
export function useBuilderLive(accountId: string | undefined): void {
  const open = useEventStream("/console/api/live", takeBuilderEvent, {
    enabled: accountId !== undefined,
    of: accountId,
  });
  useEffect(() => {
    queryClient.setQueryData(LIVE_OPEN, open);
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

/** A request ended. Sums and short lists on the screen are read again, at most every few seconds however busy it is. */
function readAgainSoon(): void {
  if (waiting) return;
  waiting = true;
  setTimeout(readAgain, Math.max(0, readAt + READ_AGAIN_MS - Date.now()));
}

function readAgain(): void {
  waiting = false;
  readAt = Date.now();
  void queryClient.invalidateQueries({ predicate: ({ queryKey }) => SUMS.test(keyName(queryKey)) });
  // Long lists stay as they are under the reader's eyes; they are read again when they are next opened.
  void queryClient.invalidateQueries({
    predicate: ({ queryKey }) => LONG_LISTS.test(keyName(queryKey)),
    refetchType: "none",
  });
}

const keyName = (queryKey: readonly unknown[]): string => queryKey.slice(0, 2).map(String).join(" ");

/** The last that the stream said; undefined until it has. */
export function useLiveRequests(): LiveRequests | undefined {
  return useQuery<LiveRequests>({ queryKey: LIVE_REQUESTS, enabled: false }).data;
}

/** Whether what the stream said last still holds. */
export function useLiveOpen(): boolean {
  return useQuery<boolean>({ queryKey: LIVE_OPEN, enabled: false }).data === true;
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
