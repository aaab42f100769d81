/** Queries and changes for a host's tokens and nodes. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import type { JobFilter } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import type { TimeRange } from "../time-range.ts";
import { loadEveryPage, paginatedQuery } from "./pagination.ts";
import { queryClient } from "./query-client.ts";

/** The refresh interval of node states while the page is visible: nodes connect and disconnect by themselves. */
export const NODES_REFETCH_MS = 5_000;

export const hostTokensQuery = queryOptions({
  queryKey: ["host tokens"],
  queryFn: () => loadEveryPage((query) => callConsoleApi("GET /console/api/host-tokens", { query })),
});

const readTokens = (): Promise<void> => queryClient.invalidateQueries({ queryKey: hostTokensQuery.queryKey });

export const useCreateHostToken = () =>
  useMutation({
    mutationFn: (name: string) => callConsoleApi("POST /console/api/host-tokens", { body: { name } }),
    onSuccess: readTokens,
  });

export const useRevokeHostToken = () =>
  useMutation({
    mutationFn: (id: string) => callConsoleApi("DELETE /console/api/host-tokens/{id}", { path: { id } }),
    onSuccess: readTokens,
  });

/** All nodes in one page: a host has at most 100 that are not retired, and the newest come last. */
export const nodesQuery = queryOptions({
  queryKey: ["nodes", "list"],
  refetchInterval: NODES_REFETCH_MS,
  queryFn: () =>
    loadEveryPage((query) => callConsoleApi("GET /console/api/nodes", { query }), Number.POSITIVE_INFINITY),
});

export const nodeQuery = (id: string) =>
  queryOptions({
    queryKey: ["nodes", "one", id],
    refetchInterval: NODES_REFETCH_MS,
    queryFn: () => callConsoleApi("GET /console/api/nodes/{id}", { path: { id } }),
  });

/** A longer refresh interval: statistics change slowly and lag by a few seconds. */
const INSIGHT_AGAIN_MS = 15_000;

export const nodeActivityQuery = (id: string, range: TimeRange, to?: string) =>
  queryOptions({
    queryKey: ["nodes", "insight", id, range, to],
    refetchInterval: INSIGHT_AGAIN_MS,
    queryFn: () => callConsoleApi("GET /console/api/nodes/{id}/insight", { path: { id }, query: { range, to } }),
  });

export const hostActivityQuery = (range: TimeRange) =>
  queryOptions({
    queryKey: ["nodes", "insight", "all", range],
    refetchInterval: INSIGHT_AGAIN_MS,
    queryFn: () => callConsoleApi("GET /console/api/insight", { query: { range } }),
  });

/** The page size of the job log, which is only one part of the node's page. */
const JOBS_SHOWN = 20;

export const jobsQuery = (id: string, filter: JobFilter) => ({
  ...paginatedQuery(["nodes", "jobs", id, filter], (cursor) =>
    callConsoleApi("GET /console/api/nodes/{id}/jobs", {
      path: { id },
      query: { ...filter, cursor, limit: JOBS_SHOWN },
    }),
  ),
  refetchInterval: INSIGHT_AGAIN_MS,
});

export const nodeSpotChecksQuery = (id: string) =>
  paginatedQuery(["nodes", "checks", id], (cursor) =>
    callConsoleApi("GET /console/api/nodes/{id}/checks", { path: { id }, query: { cursor, limit: JOBS_SHOWN } }),
  );

export const marketQuery = (node: string | undefined) =>
  queryOptions({
    queryKey: ["market", node],
    refetchInterval: INSIGHT_AGAIN_MS,
    queryFn: () => callConsoleApi("GET /console/api/market", { query: { node } }),
  });

export const nodeModelsQuery = queryOptions({
  queryKey: ["node models"],
  staleTime: 300_000,
  refetchInterval: 300_000,
  queryFn: () => callConsoleApi("GET /console/api/node-models"),
});

const readNodes = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ["nodes"] });

export const useElectModels = (id: string) =>
  useMutation({
    mutationFn: (models: string[]) =>
      callConsoleApi("PUT /console/api/nodes/{id}/elections", { path: { id }, body: { models } }),
    onSuccess: readNodes,
  });

export const usePauseOrResumeNode = (id: string) =>
  useMutation({
    mutationFn: (move: "pause" | "resume") =>
      move === "pause"
        ? callConsoleApi("POST /console/api/nodes/{id}/pause", { path: { id } })
        : callConsoleApi("POST /console/api/nodes/{id}/resume", { path: { id } }),
    onSuccess: readNodes,
  });

export const useRenameNode = () =>
  useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) =>
      callConsoleApi("PATCH /console/api/nodes/{id}", { path: { id }, body: { name } }),
    onSuccess: readNodes,
  });

export const useRetireNode = (id: string) =>
  useMutation({
    mutationFn: () => callConsoleApi("POST /console/api/nodes/{id}/retire", { path: { id } }),
    onSuccess: readNodes,
  });
