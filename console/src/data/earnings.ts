/** Queries for a host's earnings: single lines and sums. */
import { queryOptions } from "@tanstack/react-query";
import type { EarningFilter, EarningSumsQuery } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import { paginatedQuery } from "./pagination.ts";

export const earningsQuery = (filter: EarningFilter) =>
  paginatedQuery(["earnings", "list", filter], (cursor) =>
    callConsoleApi("GET /console/api/earnings", { query: { ...filter, cursor } }),
  );

export const withheldQuery = (filter: Pick<EarningFilter, "node">) =>
  paginatedQuery(["earnings", "withheld", filter], (cursor) =>
    callConsoleApi("GET /console/api/withheld", { query: { ...filter, cursor } }),
  );

export const earningSumsQuery = (query: EarningSumsQuery) =>
  queryOptions({
    queryKey: ["earnings", "sums", query],
    queryFn: () => callConsoleApi("GET /console/api/earnings/sums", { query }),
  });

/** The host's balances. They come with the earnings list, so the query requests only its newest line. */
export const hostMoneyQuery = queryOptions({
  queryKey: ["earnings", "money"],
  refetchInterval: 15_000,
  queryFn: () => callConsoleApi("GET /console/api/earnings", { query: { limit: 1 } }),
});
