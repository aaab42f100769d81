/** Queries for the performance of a builder's requests. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { PerformanceQuery } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";

export const performanceQuery = (query: PerformanceQuery) =>
  queryOptions({
    queryKey: ["performance", query],
    queryFn: () => callConsoleApi("GET /console/api/performance", { query }),
    // While a new filter's figures load, the previous figures stay visible.
    placeholderData: keepPreviousData,
  });
