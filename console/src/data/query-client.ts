/** The cache of API responses. A request that the API refused is not retried, because it would be refused again. */
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiFault, isForbidden, isSignedOut } from "../api/api-fault.ts";
import { countLoadedPages } from "./pagination.ts";

/** The key under which the cache stores whether the builder's live stream is open. */
export const STREAM_OPEN_QUERY_KEY = ["live open"];

const TRIES_MAX = 2;
const FRESH_MS = 15_000;
/** The refresh interval of data on a visible page. Lists with many pages are refreshed less often. */
export const REFETCH_MS = 20_000;

/** Handlers for responses that show an ended session or changed permissions. */
let whenSignedOut: () => void = () => {};
let whenForbidden: () => Promise<void> = async () => {};
export function setSignedOutHandler(call: () => void): void {
  whenSignedOut = call;
}
export function setForbiddenHandler(call: () => Promise<void>): void {
  whenForbidden = call;
}
export const callSignedOutHandler = (): void => whenSignedOut();
export const callForbiddenHandler = (): void => void whenForbidden();

function onError(error: unknown): void {
  if (isSignedOut(error)) whenSignedOut();
  if (isForbidden(error)) callForbiddenHandler();
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      refetchInterval: ({ state }) => REFETCH_MS * countLoadedPages(state.data),
      retry: (failures, error) => failures < TRIES_MAX && !(error instanceof ApiFault && error.status < 500),
      // Without a network, a request fails at once instead of being paused.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

/** Refreshes all visible data after an outage, except data that is loaded only on request. */
export const refetchEverything = (): Promise<void> =>
  queryClient.invalidateQueries({
    predicate: ({ state, observers }) =>
      state.status === "error" || observers.every(({ options }) => options.refetchInterval !== false),
  });
