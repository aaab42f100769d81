/** A builder's API keys. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import { everyPage } from "./pages.ts";
import { queryClient } from "./query-client.ts";

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: () => everyPage((query) => call("GET /console/api/keys", { query })),
});

const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });

export const useCreateKey = () =>
  useMutation({
    mutationFn: (name: string) => call("POST /console/api/keys", { body: { name } }),
    onSuccess: refresh,
  });

export const useRenameKey = () =>
  useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) =>
      call("PATCH /console/api/keys/{id}", { path: { id }, body: { name } }),
    onSuccess: refresh,
  });

export const useRevokeKey = () =>
  useMutation({
    mutationFn: (id: string) => call("DELETE /console/api/keys/{id}", { path: { id } }),
    onSuccess: refresh,
  });
