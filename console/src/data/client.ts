/** The cache of what the API said. Faults of the API are not tried again: they would be the same. */
import { QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiFault, isSignedOut } from "../api/fault.ts";

const TRIES_MAX = 2;
const FRESH_MS = 15_000;

/** Called when the API says that the session is over. */
let whenSignedOut: () => void = () => {};
export function onSignedOut(call: () => void): void {
  whenSignedOut = call;
}
export const noticeSignedOut = (): void => whenSignedOut();

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (isSignedOut(error)) whenSignedOut();
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) => failures < TRIES_MAX && !(error instanceof ApiFault && error.status < 500),
    },
  },
});
