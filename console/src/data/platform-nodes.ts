/** Operators' queries and actions on the nodes of all hosts. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { NodeSearch } from "../api/types.ts";
import { NODES_REFETCH_MS } from "./host.ts";
import { paginatedQuery } from "./pagination.ts";
import { AUDIT_QUERY_KEY } from "./platform.ts";
import { queryClient } from "./query-client.ts";

export const platformNodesQuery = (search: NodeSearch) => ({
  ...paginatedQuery(["platform nodes", "list", search], (cursor) =>
    call("GET /console/api/operator/nodes", { query: { ...search, cursor } }),
  ),
  refetchInterval: NODES_REFETCH_MS,
});

export const platformNodeQuery = (id: string) =>
  queryOptions({
    queryKey: ["platform nodes", "one", id],
    refetchInterval: NODES_REFETCH_MS,
    queryFn: () => call("GET /console/api/operator/nodes/{id}", { path: { id } }),
  });

const CHECKS_SHOWN = 10;

export const platformNodeChecksQuery = (id: string) =>
  paginatedQuery(["platform nodes", "checks of", id], (cursor) =>
    call("GET /console/api/operator/nodes/{id}/checks", { path: { id }, query: { cursor, limit: CHECKS_SHOWN } }),
  );

export const platformSpotChecksQuery = queryOptions({
  queryKey: ["platform nodes", "checks"],
  queryFn: () => call("GET /console/api/operator/checks"),
});

const readAgain = () =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ["platform nodes"] }),
    queryClient.invalidateQueries({ queryKey: AUDIT_QUERY_KEY }),
  ]);

export const useQuarantineNode = (id: string) =>
  useMutation({
    mutationFn: (reason: string) =>
      call("POST /console/api/operator/nodes/{id}/quarantine", { path: { id }, body: { reason } }),
    onSuccess: readAgain,
  });

export const useAllowNodeToServe = (id: string) =>
  useMutation({
    mutationFn: () => call("POST /console/api/operator/nodes/{id}/clear", { path: { id } }),
    onSuccess: readAgain,
  });

export const useReleaseNodeFromQuarantine = (id: string) =>
  useMutation({
    mutationFn: () => call("POST /console/api/operator/nodes/{id}/release", { path: { id } }),
    onSuccess: readAgain,
  });
