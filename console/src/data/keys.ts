/** Queries and changes for a builder's API keys. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import type { KeyChange } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import { loadEveryPage } from "./pagination.ts";
import { queryClient } from "./query-client.ts";

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: () => loadEveryPage((query) => callConsoleApi("GET /console/api/keys", { query })),
});

export const keyQuery = (id: string) =>
  queryOptions({
    queryKey: ["keys", "one", id],
    queryFn: () => callConsoleApi("GET /console/api/keys/{id}", { path: { id } }),
  });

const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });

export const useCreateKey = () =>
  useMutation({
    /** The name alone, or the name with settings. */
    mutationFn: (key: string | (KeyChange & { name: string })) =>
      callConsoleApi("POST /console/api/keys", { body: typeof key === "string" ? { name: key } : key }),
    onSuccess: refresh,
  });

export const useChangeKey = (id: string) =>
  useMutation({
    mutationFn: (change: KeyChange) => callConsoleApi("PATCH /console/api/keys/{id}", { path: { id }, body: change }),
    onSuccess: refresh,
  });

export const useRotateKey = (id: string) =>
  useMutation({
    mutationFn: (keep_old_s: number) =>
      callConsoleApi("POST /console/api/keys/{id}/rotate", { path: { id }, body: { keep_old_s } }),
    onSuccess: refresh,
  });

export const useRevokeKey = () =>
  useMutation({
    mutationFn: (id: string) => callConsoleApi("DELETE /console/api/keys/{id}", { path: { id } }),
    onSuccess: refresh,
  });
