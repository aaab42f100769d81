/** Query for the hold (reserved credit) of a chat request, computed by the gateway. */
import { queryOptions } from "@tanstack/react-query";
import type { QuoteRequest } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";

/** A prompt may be long, so its quote stays in the cache only briefly. */
export const holdQuoteQuery = (chat: QuoteRequest) =>
  queryOptions({
    queryKey: ["quote", chat],
    queryFn: () => callConsoleApi("POST /console/api/quote", { body: chat }),
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
  });
