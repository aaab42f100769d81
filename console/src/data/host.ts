/** A host's tokens and nodes. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";
import type { ListedNode } from "../api/host-types.ts";
import { everyPage } from "./every-page.ts";
import { queryClient } from "./query-client.ts";

const PAGE = 100;

/** Nodes come and go by themselves; while somebody looks they are read again this often. */
export const LOOK_AGAIN_MS = 5_000;

export const hostTokensQuery = queryOptions({
  queryKey: ["host tokens"],
  queryFn: () => everyPage((query) => ask(api.GET("/console/api/host-tokens", { params: { query } }))),
});

const readTokens = (): Promise<void> => queryClient.invalidateQueries({ queryKey: hostTokensQuery.queryKey });

export const useCreateHostToken = () =>
  useMutation({
    mutationFn: (name: string) => ask(api.POST("/console/api/host-tokens", { body: { name } })),
    onSuccess: readTokens,
  });

export const useRevokeHostToken = () =>
  useMutation({
    mutationFn: (id: string) => ask(api.DELETE("/console/api/host-tokens/{id}", { params: { path: { id } } })),
    onSuccess: readTokens,
  });

/** All of them, page by page: a host has a hundred at most that are not retired. */
async function everyNode(): Promise<{ data: ListedNode[] }> {
  const data: ListedNode[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: PAGE, ...(cursor !== undefined && { cursor }) };
    const page = await ask(api.GET("/console/api/nodes", { params: { query } }));
    data.push(...page.data);
    cursor = page.next_cursor;
  }
  return { data };
}

export const nodesQuery = queryOptions({
  queryKey: ["nodes", "list"],
  refetchInterval: LOOK_AGAIN_MS,
  queryFn: everyNode,
});

export const nodeQuery = (id: string) =>
  queryOptions({
    queryKey: ["nodes", "one", id],
    refetchInterval: LOOK_AGAIN_MS,
    queryFn: () => ask(api.GET("/console/api/nodes/{id}", { params: { path: { id } } })),
  });

export const nodeModelsQuery = queryOptions({
  queryKey: ["node models"],
  staleTime: 300_000,
  queryFn: () => ask(api.GET("/console/api/node-models")),
});

const readNodes = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ["nodes"] });

export const useElect = (id: string) =>
  useMutation({
    mutationFn: (models: string[]) =>
      ask(api.PUT("/console/api/nodes/{id}/elections", { params: { path: { id } }, body: { models } })),
    onSuccess: readNodes,
  });

export const useMoveNode = (id: string) =>
  useMutation({
    mutationFn: (move: "pause" | "resume") =>
      move === "pause"
        ? ask(api.POST("/console/api/nodes/{id}/pause", { params: { path: { id } } }))
        : ask(api.POST("/console/api/nodes/{id}/resume", { params: { path: { id } } })),
    onSuccess: readNodes,
  });
