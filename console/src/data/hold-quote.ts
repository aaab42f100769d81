/** Query for the hold (reserved credit) of a chat request, computed by the gateway. */
import { queryOptions } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { QuoteRequest } from "../api/types.ts";

/** A prompt may be long, so its quote stays in the cache only briefly. */
export const holdQuoteQuery = (chat: QuoteRequest) =>
  queryOptions({
    queryKey: ["quote", chat],
    queryFn: () => call("POST /console/api/quote", { body: chat }),
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
  });
