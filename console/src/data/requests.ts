/** A builder's request history. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { RequestFilter, RequestSort } from "../api/types.ts";
import { pageByPage } from "./pages.ts";

const PAGE = 50;

export const requestsQuery = (filter: RequestFilter, sort: RequestSort) =>
  pageByPage(["requests", "list", filter, sort], (cursor) =>
    call("GET /console/api/requests", { query: { ...filter, sort, limit: PAGE, cursor } }),
  );

/** What all of them add up to. */
export const requestTotalsQuery = (filter: RequestFilter) =>
  queryOptions({
    queryKey: ["requests", "totals", filter],
    queryFn: () => call("GET /console/api/requests/totals", { query: filter }),
    placeholderData: keepPreviousData,
  });

/** How many of them began when, by how they ended. */
export const requestHistogramQuery = (filter: RequestFilter) =>
  queryOptions({
    queryKey: ["requests", "histogram", filter],
    queryFn: () => call("GET /console/api/requests/histogram", { query: filter }),
    placeholderData: keepPreviousData,
  });

/** Those that were refused for want of credit since then. */
export const unfundedQuery = (from: string) =>
  queryOptions({
    queryKey: ["unfunded", from],
    queryFn: () => call("GET /console/api/unfunded", { query: { from } }),
  });

/** Calls that were refused since then, by their codes. */
export const refusalsQuery = (from: string) =>
  queryOptions({
    queryKey: ["refusals", from],
    queryFn: () => call("GET /console/api/refusals", { query: { from } }),
  });

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
