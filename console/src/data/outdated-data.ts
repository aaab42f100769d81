/** Hooks that say whether the page's data is old, and which dependencies are unreachable. */
import { type Query, queryOptions, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { callConsoleApi } from "../api/api-client.ts";
import { ApiFault } from "../api/api-fault.ts";
import { findOldestRead, isQueryDataOutdated, type QueryReadState } from "./data-age.ts";
import { queryClient, REFETCH_MS } from "./query-client.ts";

const LOOK_EVERY_MS = 2_000;
const ASK_EVERY_MS = 3_000;

/** A shared clock for components that show an age. It advances every two seconds while the page is visible. */
const watch = (() => {
  let nowMs = Date.now();
  let seenSinceMs = nowMs;
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setInterval> | undefined;
  const look = (): void => {
    if (document.hidden) return;
    nowMs = Date.now();
    for (const listener of listeners) listener();
  };
  const seen = (): void => {
    if (!document.hidden) seenSinceMs = Date.now();
    look();
  };
  return {
    subscribe(listener: () => void): () => void {
      if (listeners.size === 0) {
        seen();
        timer = setInterval(look, LOOK_EVERY_MS);
        document.addEventListener("visibilitychange", seen);
      }
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        document.removeEventListener("visibilitychange", seen);
      };
    },
    at: () => ({ nowMs, seenSinceMs }),
  };
})();

const readOf = (query: Query): QueryReadState & { everyMs: number } => ({
  dataUpdatedAt: query.state.dataUpdatedAt,
  failureCount: Math.max(query.state.fetchFailureCount, query.state.status === "error" ? 1 : 0),
  everyMs: Math.min(...query.observers.map((one) => intervalOf(one.options.refetchInterval, query))),
});

function intervalOf(interval: unknown, query: Query): number {
  const every = typeof interval === "function" ? interval(query) : interval;
  return typeof every === "number" ? every : Number.POSITIVE_INFINITY;
}

const shown = (): Query[] =>
  queryClient
    .getQueryCache()
    .getAll()
    .filter((query) => query.isActive());

/** When the oldest outdated value on the page was read; undefined if none is outdated. */
function oldestShown(): number | undefined {
  return findOldestRead(shown().map(readOf), watch.at());
}

/** Whether a visible query got a 503, because the gateway cannot reach a dependency. */
const isRefused = (): boolean =>
  shown().some(({ state }) => state.error instanceof ApiFault && state.error.status === 503);

export const useOldestShownTime = (): number | undefined => useSyncExternalStore(watch.subscribe, oldestShown);
export const useAreRequestsRefused = (): boolean => useSyncExternalStore(watch.subscribe, isRefused);

export type AgedQuery = Pick<UseQueryResult, "data" | "dataUpdatedAt" | "failureCount" | "isError" | "fetchStatus">;

/**
 * The refresh interval of the query that read this value. The query is found by its value, because a result of
 * `useQuery` does not name it.
 */
export function refreshIntervalOf(data: unknown): number {
  const query = queryClient
    .getQueryCache()
    .getAll()
    .find(({ state }) => state.data === data);
  return query === undefined ? REFETCH_MS : readOf(query).everyMs;
}

/** The dependencies that the gateway cannot reach. Requested only during an outage. */
const healthQuery = queryOptions({
  queryKey: ["health"],
  queryFn: () => callConsoleApi("GET /console/api/health"),
  refetchInterval: ASK_EVERY_MS,
  staleTime: 0,
  gcTime: 0,
  retry: false,
});

export const useGatewayHealth = (enabled: boolean) => useQuery({ ...healthQuery, enabled });

/** When a figure was read, if it is old because its refresh fails or gets no response. */
export function useDataAge(query: AgedQuery): number | undefined {
  const { data, dataUpdatedAt, failureCount, isError, fetchStatus } = query;
  const read = { dataUpdatedAt, failureCount: Math.max(failureCount, isError ? 1 : 0) };
  const isAsked = read.failureCount > 0 || fetchStatus === "fetching";
  return useSyncExternalStore(watch.subscribe, () =>
    isAsked && isQueryDataOutdated({ ...read, everyMs: refreshIntervalOf(data) }, watch.at())
      ? dataUpdatedAt
      : undefined,
  );
}
