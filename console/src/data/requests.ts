/** Queries for a builder's request history. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { RequestFilter, RequestSort } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import { paginatedQuery } from "./pagination.ts";

const PAGE = 50;

export const requestsQuery = (filter: RequestFilter, sort: RequestSort) =>
  paginatedQuery(["requests", "list", filter, sort], (cursor) =>
    callConsoleApi("GET /console/api/requests", { query: { ...filter, sort, limit: PAGE, cursor } }),
  );

/** The totals of all matching requests. */
export const requestTotalsQuery = (filter: RequestFilter) =>
  queryOptions({
    queryKey: ["requests", "totals", filter],
    queryFn: () => callConsoleApi("GET /console/api/requests/totals", { query: filter }),
    placeholderData: keepPreviousData,
  });

/** The number of requests by start time and outcome. */
export const requestHistogramQuery = (filter: RequestFilter) =>
  queryOptions({
    queryKey: ["requests", "histogram", filter],
    queryFn: () => callConsoleApi("GET /console/api/requests/histogram", { query: filter }),
    placeholderData: keepPreviousData,
  });

/** Requests refused for lack of credit since `from`. */
export const creditRefusalsQuery = (from: string) =>
  queryOptions({
    queryKey: ["unfunded", from],
    queryFn: () => callConsoleApi("GET /console/api/unfunded", { query: { from } }),
  });

/** Refused calls since `from`, by error code. */
export const refusedCallsQuery = (from: string) =>
  queryOptions({
    queryKey: ["refusals", from],
    queryFn: () => callConsoleApi("GET /console/api/refusals", { query: { from } }),
  });

/** The newest requests of the account, or of one key. */
export const recentRequestsQuery = (limit: number, key?: string) =>
  queryOptions({
    queryKey: ["requests", "recent", limit, key],
    queryFn: () => callConsoleApi("GET /console/api/requests", { query: { limit, key } }),
  });

export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ["requests", "one", id],
    queryFn: () => callConsoleApi("GET /console/api/requests/{id}", { path: { id } }),
  });
