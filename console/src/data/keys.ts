/** Queries and changes for a builder's API keys. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { KeyChange } from "../api/types.ts";
import { loadEveryPage } from "./pagination.ts";
import { queryClient } from "./query-client.ts";

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: () => loadEveryPage((query) => call("GET /console/api/keys", { query })),
});

export const keyQuery = (id: string) =>
  queryOptions({
    queryKey: ["keys", "one", id],
    queryFn: () => call("GET /console/api/keys/{id}", { path: { id } }),
  });

const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });

export const useCreateKey = () =>
  useMutation({
    /** The name alone, or the name with settings. */
    mutationFn: (key: string | (KeyChange & { name: string })) =>
      call("POST /console/api/keys", { body: typeof key === "string" ? { name: key } : key }),
    onSuccess: refresh,
  });

export const useChangeKey = (id: string) =>
  useMutation({
    mutationFn: (change: KeyChange) => call("PATCH /console/api/keys/{id}", { path: { id }, body: change }),
    onSuccess: refresh,
  });

export const useRotateKey = (id: string) =>
  useMutation({
    mutationFn: (keep_old_s: number) =>
      call("POST /console/api/keys/{id}/rotate", { path: { id }, body: { keep_old_s } }),
    onSuccess: refresh,
  });

export const useRevokeKey = () =>
  useMutation({
    mutationFn: (id: string) => call("DELETE /console/api/keys/{id}", { path: { id } }),
    onSuccess: refresh,
  });
