/** Every host's nodes, for operators. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";
import { queryClient } from "./client.ts";
import { LOOK_AGAIN_MS } from "./host.ts";
import { auditQuery } from "./platform.ts";

export const platformNodesQuery = queryOptions({
  queryKey: ["platform nodes", "list"],
  refetchInterval: LOOK_AGAIN_MS,
  queryFn: () => ask(api.GET("/console/api/operator/nodes")),
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

export const useRelease = (id: string) =>
  useMutation({
    mutationFn: () => ask(api.POST("/console/api/operator/nodes/{id}/release", { params: { path: { id } } })),
    onSuccess: readAgain,
  });
