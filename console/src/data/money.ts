/** Queries for a builder's balance and usage. */
import { queryOptions } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { UsageQuery } from "../api/types.ts";

export const balanceQuery = queryOptions({
  queryKey: ["balance"],
  queryFn: () => call("GET /console/api/balance"),
});

/** `from` and `to` are ISO times. Without `to`, the range ends now. */
export const usageQuery = (query: UsageQuery) =>
  queryOptions({
    queryKey: ["usage", query],
    queryFn: () => call("GET /console/api/usage", { query }),
  });
