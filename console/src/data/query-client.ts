/** The cache of API responses. The API's errors are not retried, because they would be the same. */
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiFault, isForbidden, isSignedOut } from "../api/fault.ts";
import { pagesIn } from "./pages.ts";

/** The key under which the cache stores whether the builder's live stream is open. */
export const LIVE_OPEN = ["live open"];

const TRIES_MAX = 2;
const FRESH_MS = 15_000;
/** How often a page's data is read again while it is visible; lists with many pages less often. */
export const READ_AGAIN_MS = 20_000;

/** Called when an answer shows that the session has ended or that permissions have changed. */
let whenSignedOut: () => void = () => {};
let whenForbidden: () => Promise<void> = async () => {};
export function onSignedOut(call: () => void): void {
  whenSignedOut = call;
}
export function onForbidden(call: () => Promise<void>): void {
  whenForbidden = call;
}
export const noticeSignedOut = (): void => whenSignedOut();
export const noticeForbidden = (): void => void whenForbidden();

function onError(error: unknown): void {
  if (isSignedOut(error)) whenSignedOut();
  if (isForbidden(error)) noticeForbidden();
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      refetchInterval: ({ state }) => READ_AGAIN_MS * pagesIn(state.data),
      retry: (failures, error) => failures < TRIES_MAX && !(error instanceof ApiFault && error.status < 500),
      // Without a network a request fails at once instead of waiting silently.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

/** Reads everything shown again after an outage, except data that is only loaded on request. */
export const readEverythingAgain = (): Promise<void> =>
  queryClient.invalidateQueries({
    predicate: ({ state, observers }) =>
      state.status === "error" || observers.every(({ options }) => options.refetchInterval !== false),
  });
