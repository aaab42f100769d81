/** Operators' queries and actions on the nodes of all hosts. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import type { NodeSearch } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import { NODES_REFETCH_MS } from "./host-nodes-and-tokens.ts";
import { paginatedQuery } from "./pagination.ts";
import { AUDIT_QUERY_KEY } from "./platform-overview.ts";
import { queryClient } from "./query-client.ts";

export const platformNodesQuery = (search: NodeSearch) => ({
  ...paginatedQuery(["platform nodes", "list", search], (cursor) =>
    callConsoleApi("GET /console/api/operator/nodes", { query: { ...search, cursor } }),
  ),
  refetchInterval: NODES_REFETCH_MS,
});

export const platformNodeQuery = (id: string) =>
  queryOptions({
    queryKey: ["platform nodes", "one", id],
    refetchInterval: NODES_REFETCH_MS,
    queryFn: () => callConsoleApi("GET /console/api/operator/nodes/{id}", { path: { id } }),
  });

const CHECKS_SHOWN = 10;

export const platformNodeChecksQuery = (id: string) =>
  paginatedQuery(["platform nodes", "checks of", id], (cursor) =>
    callConsoleApi("GET /console/api/operator/nodes/{id}/checks", {
      path: { id },
      query: { cursor, limit: CHECKS_SHOWN },
    }),
  );

export const platformSpotChecksQuery = queryOptions({
  queryKey: ["platform nodes", "checks"],
  queryFn: () => callConsoleApi("GET /console/api/operator/checks"),
});

const readAgain = () =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ["platform nodes"] }),
    queryClient.invalidateQueries({ queryKey: AUDIT_QUERY_KEY }),
  ]);

export const useQuarantineNode = (id: string) =>
  useMutation({
    mutationFn: (reason: string) =>
      callConsoleApi("POST /console/api/operator/nodes/{id}/quarantine", { path: { id }, body: { reason } }),
    onSuccess: readAgain,
  });

export const useAllowNodeToServe = (id: string) =>
  useMutation({
    mutationFn: () => callConsoleApi("POST /console/api/operator/nodes/{id}/clear", { path: { id } }),
    onSuccess: readAgain,
  });

export const useReleaseNodeFromQuarantine = (id: string) =>
  useMutation({
    mutationFn: () => callConsoleApi("POST /console/api/operator/nodes/{id}/release", { path: { id } }),
    onSuccess: readAgain,
  });
