/** Every host's nodes, for operators. */
import { infiniteQueryOptions, queryOptions, useMutation } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";
import type { NodeState } from "../api/host-types.ts";
import { LOOK_AGAIN_MS } from "./host.ts";
import { auditQuery } from "./platform.ts";
import { queryClient } from "./query-client.ts";

export interface NodeSearch {
  /** A part of the node's name. */
  q?: string;
  state?: NodeState;
  /** The host's account. */
  host?: string;
}

export const platformNodesQuery = (search: NodeSearch) =>
  infiniteQueryOptions({
    queryKey: ["platform nodes", "list", search],
    refetchInterval: LOOK_AGAIN_MS,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      ask(
        api.GET("/console/api/operator/nodes", {
          params: { query: { ...search, ...(cursor !== undefined && { cursor }) } },
        }),
      ),
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

export const platformNodeQuery = (id: string) =>
  queryOptions({
    queryKey: ["platform nodes", "one", id],
    refetchInterval: LOOK_AGAIN_MS,
    queryFn: () => ask(api.GET("/console/api/operator/nodes/{id}", { params: { path: { id } } })),
  });

const readAgain = () =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ["platform nodes"] }),
    queryClient.invalidateQueries({ queryKey: auditQuery.queryKey }),
  ]);

export const useQuarantine = (id: string) =>
  useMutation({
    mutationFn: (reason: string) =>
      ask(api.POST("/console/api/operator/nodes/{id}/quarantine", { params: { path: { id } }, body: { reason } })),
    onSuccess: readAgain,
  });

export const useClear = (id: string) =>
  useMutation({
    mutationFn: () => ask(api.POST("/console/api/operator/nodes/{id}/clear", { params: { path: { id } } })),
    onSuccess: readAgain,
  });

export const useRelease = (id: string) =>
  useMutation({
    mutationFn: () => ask(api.POST("/console/api/operator/nodes/{id}/release", { params: { path: { id } } })),
    onSuccess: readAgain,
  });
