/** A builder's request history. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";
import type { RequestFilter } from "../api/types.ts";

const PAGE = 50;

export const requestsQuery = (filter: RequestFilter) =>
  infiniteQueryOptions({
    queryKey: ["requests", "list", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      ask(
        api.GET("/console/api/requests", {
          params: { query: { ...filter, limit: PAGE, ...(cursor !== undefined && { cursor }) } },
        }),
      ),
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

export const recentRequestsQuery = (limit: number) =>
  queryOptions({
    queryKey: ["requests", "recent", limit],
    queryFn: () => ask(api.GET("/console/api/requests", { params: { query: { limit } } })),
  });

export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ["requests", "one", id],
    queryFn: () => ask(api.GET("/console/api/requests/{id}", { params: { path: { id } } })),
  });
