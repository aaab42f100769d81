/** Queries for a builder's balance and usage. */
import { queryOptions } from "@tanstack/react-query";
import type { UsageQuery } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";

export const balanceQuery = queryOptions({
  queryKey: ["balance"],
  queryFn: () => callConsoleApi("GET /console/api/balance"),
});

/** `from` and `to` are ISO times. Without `to`, the range ends now. */
export const usageQuery = (query: UsageQuery) =>
  queryOptions({
    queryKey: ["usage", query],
    queryFn: () => callConsoleApi("GET /console/api/usage", { query }),
  });
