/** What a host earned: line by line, and in sums. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";
import type { EarningSumsQuery } from "../api/host-types.ts";

interface EarningsFilter {
  node?: string;
}

export const earningsQuery = (filter: EarningsFilter) =>
  infiniteQueryOptions({
    queryKey: ["earnings", "list", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      ask(
        api.GET("/console/api/earnings", {
          params: { query: { ...filter, ...(cursor !== undefined && { cursor }) } },
        }),
      ),
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

export const earningSumsQuery = (query: EarningSumsQuery) =>
  queryOptions({
    queryKey: ["earnings", "sums", query],
    queryFn: () => ask(api.GET("/console/api/earnings/sums", { params: { query } })),
  });

export const earningsCsvPath = (filter: EarningsFilter): string =>
  `/console/api/earnings.csv?${new URLSearchParams({ ...filter })}`;

export const receiptPath = (requestId: string): string => `/console/api/earnings/${requestId}/receipt`;

/** The host's money; of the lines only the newest is asked for. */
export const hostMoneyQuery = queryOptions({
  queryKey: ["earnings", "money"],
  refetchInterval: 15_000,
  queryFn: () => ask(api.GET("/console/api/earnings", { params: { query: { limit: 1 } } })),
});
