/** Queries for the models' current speed and capacity, refreshed while the page is visible. */
import { queryOptions } from "@tanstack/react-query";
import { callConsoleApi } from "../api/api-client.ts";
import type { BucketedRange } from "../time-range.ts";

const READ_AGAIN_MS = 20_000;
const LOOK_AGAIN_MS = 5_000;

export const liveModelsQuery = queryOptions({
  queryKey: ["live models"],
  refetchInterval: READ_AGAIN_MS,
  queryFn: () => callConsoleApi("GET /console/api/models"),
});

export const modelQuery = (id: string) =>
  queryOptions({
    queryKey: ["live models", id],
    refetchInterval: LOOK_AGAIN_MS,
    queryFn: () => callConsoleApi("GET /console/api/models/{id}", { path: { id } }),
  });

export const modelPerformanceQuery = (id: string, range: BucketedRange, to?: string) =>
  queryOptions({
    queryKey: ["model performance", id, range, to],
    refetchInterval: READ_AGAIN_MS,
    queryFn: () => callConsoleApi("GET /console/api/models/{id}/performance", { path: { id }, query: { range, to } }),
  });
