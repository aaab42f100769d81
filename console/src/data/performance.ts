/** Queries for the performance of a builder's requests. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { PerformanceQuery } from "../api/types.ts";

export const performanceQuery = (query: PerformanceQuery) =>
  queryOptions({
    queryKey: ["performance", query],
    queryFn: () => call("GET /console/api/performance", { query }),
    // While a new filter's figures load, the previous figures stay visible.
    placeholderData: keepPreviousData,
  });
