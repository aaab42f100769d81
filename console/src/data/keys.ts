/** A builder's API keys. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";
import { everyPage } from "./every-page.ts";
import { queryClient } from "./query-client.ts";

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: () => everyPage((query) => ask(api.GET("/console/api/keys", { params: { query } }))),
});

const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });

export const useCreateKey = () =>
  useMutation({
    mutationFn: (name: string) => ask(api.POST("/console/api/keys", { body: { name } })),
    onSuccess: refresh,
  });

export const useRenameKey = () =>
  useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) =>
      ask(api.PATCH("/console/api/keys/{id}", { params: { path: { id } }, body: { name } })),
    onSuccess: refresh,
  });

export const useRevokeKey = () =>
  useMutation({
    mutationFn: (id: string) => ask(api.DELETE("/console/api/keys/{id}", { params: { path: { id } } })),
    onSuccess: refresh,
  });
