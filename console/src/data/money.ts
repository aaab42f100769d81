/** A builder's credits and spend. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";
import type { UsageQuery } from "../api/types.ts";

export const balanceQuery = queryOptions({
  queryKey: ["balance"],
  queryFn: () => ask(api.GET("/console/api/balance")),
});

/** `from` and `to` are ISO moments; without `to`: until now. */
export const usageQuery = (query: UsageQuery) =>
  queryOptions({
    queryKey: ["usage", query],
    queryFn: () => ask(api.GET("/console/api/usage", { params: { query } })),
  });

export const ledgerQuery = infiniteQueryOptions({
  queryKey: ["ledger"],
  initialPageParam: undefined as string | undefined,
  queryFn: ({ pageParam: cursor }) =>
    ask(api.GET("/console/api/ledger", { params: { query: cursor === undefined ? {} : { cursor } } })),
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});
