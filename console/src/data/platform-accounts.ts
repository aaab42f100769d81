/** Everybody's accounts and keys, for operators. Whatever is done is on the record, so the log is read again. */
import { infiniteQueryOptions, queryOptions, useMutation } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";
import type { KeyLimitsRequest } from "../api/operator-types.ts";
import type { components } from "../api/schema.d.ts";
import type { AccountKind } from "../api/types.ts";
import { auditQuery } from "./platform.ts";
import { queryClient } from "./query-client.ts";

/** A key with the limits that are its own, beside those that hold. */
export type PlatformKey = components["schemas"]["PlatformKey"];

export interface AccountSearch {
  q?: string;
  kind?: AccountKind;
}

export const accountsQuery = (search: AccountSearch) =>
  infiniteQueryOptions({
    queryKey: ["platform accounts", "list", search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      ask(
        api.GET("/console/api/operator/accounts", {
          params: { query: { ...search, ...(cursor !== undefined && { cursor }) } },
        }),
      ),
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

export const accountQuery = (id: string) =>
  queryOptions({
    queryKey: ["platform accounts", "one", id],
    queryFn: () => ask(api.GET("/console/api/operator/accounts/{id}", { params: { path: { id } } })),
  });

export const accountKeysQuery = (id: string) =>
  queryOptions({
    queryKey: ["platform accounts", "keys", id],
    queryFn: () => ask(api.GET("/console/api/operator/accounts/{id}/keys", { params: { path: { id } } })),
  });

const readAgain = () =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ["platform accounts"] }),
    queryClient.invalidateQueries({ queryKey: auditQuery.queryKey }),
  ]);

export const useGrant = (id: string) =>
  useMutation({
    mutationFn: (body: { amount_micro: string; reason: string }) =>
      ask(api.POST("/console/api/operator/accounts/{id}/grant", { params: { path: { id } }, body })),
    onSuccess: readAgain,
  });

export const useSuspension = (id: string) =>
  useMutation({
    mutationFn: ({ verb, reason }: { verb: "suspend" | "restore"; reason: string }) => {
      const options = { params: { path: { id } }, body: { reason } };
      return verb === "suspend"
        ? ask(api.POST("/console/api/operator/accounts/{id}/suspend", options))
        : ask(api.POST("/console/api/operator/accounts/{id}/restore", options));
    },
    onSuccess: readAgain,
  });

export const useKeyLimits = (keyId: string) =>
  useMutation({
    mutationFn: (body: KeyLimitsRequest) =>
      ask(api.PUT("/console/api/operator/keys/{id}/limits", { params: { path: { id: keyId } }, body })),
    onSuccess: readAgain,
  });
