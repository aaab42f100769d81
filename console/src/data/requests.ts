/** A builder's request history. */
import { queryOptions } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { RequestFilter } from "../api/types.ts";
import { pageByPage } from "./pages.ts";

const PAGE = 50;

export const requestsQuery = (filter: RequestFilter) =>
  pageByPage(["requests", "list", filter], (cursor) =>
    call("GET /console/api/requests", { query: { ...filter, limit: PAGE, cursor } }),
  );

/** Of one key, where it is named. */
export const recentRequestsQuery = (limit: number, key?: string) =>
  queryOptions({
    queryKey: ["requests", "recent", limit, key],
    queryFn: () => call("GET /console/api/requests", { query: { limit, key } }),
  });

export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ["requests", "one", id],
    queryFn: () => call("GET /console/api/requests/{id}", { path: { id } }),
  });
