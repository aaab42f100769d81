/** Queries for the operators' page about one account. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { callConsoleApi } from "../api/api-client.ts";
import type { BucketedRange } from "../time-range.ts";
import { paginatedQuery } from "./pagination.ts";

const READ_AGAIN_MS = 30_000;

export const accountActivityQuery = (id: string, range: BucketedRange, to?: string) =>
  queryOptions({
    queryKey: ["platform accounts", "activity", id, range, to],
    refetchInterval: READ_AGAIN_MS,
    placeholderData: keepPreviousData,
    queryFn: () =>
      callConsoleApi("GET /console/api/operator/accounts/{id}/activity", { path: { id }, query: { range, to } }),
  });

export const accountStatementQuery = (id: string) =>
  paginatedQuery(["platform accounts", "statement", id], (cursor) =>
    callConsoleApi("GET /console/api/operator/accounts/{id}/statement", { path: { id }, query: { cursor } }),
  );

export const accountPayoutsQuery = (id: string) =>
  paginatedQuery(["platform accounts", "payouts", id], (cursor) =>
    callConsoleApi("GET /console/api/operator/accounts/{id}/payouts", { path: { id }, query: { cursor } }),
  );
