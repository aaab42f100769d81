/** The cache of API responses. The API's errors are not retried, because they would be the same. */
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiFault, isForbidden, isSignedOut } from "../api/fault.ts";
import { pagesIn } from "./pages.ts";

/** Where it is kept whether the builder's live stream is open. */
export const LIVE_OPEN = ["live open"];

const TRIES_MAX = 2;
const FRESH_MS = 15_000;
/** What a page shows is read again this often while somebody looks; a list of many pages, less often. */
export const READ_AGAIN_MS = 20_000;

/** What follows when an answer says that whoever is here has changed: the session is over, or an account suspended. */
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
      // Without a network a question fails, and says so; it does not wait in silence.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

/** The gateway was away and is back: what is shown is read again, but for what is only ever asked for by hand. */
export const readEverythingAgain = (): Promise<void> =>
  queryClient.invalidateQueries({
    predicate: ({ state, observers }) =>
      state.status === "error" || observers.every(({ options }) => options.refetchInterval !== false),
  });
