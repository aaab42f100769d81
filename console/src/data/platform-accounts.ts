/**
 * Operators' queries and actions on accounts and keys. Every action is recorded, so the audit log is refreshed after
 * it.
 */
import { queryOptions, useMutation } from "@tanstack/react-query";
import type { AccountSearch, KeyLimitsRequest } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import { paginatedQuery } from "./pagination.ts";
import { AUDIT_QUERY_KEY } from "./platform-overview.ts";
import { queryClient } from "./query-client.ts";

export const accountsQuery = (search: AccountSearch) =>
  paginatedQuery(["platform accounts", "list", search], (cursor) =>
    callConsoleApi("GET /console/api/operator/accounts", { query: { ...search, cursor } }),
  );

export const accountQuery = (id: string) =>
  queryOptions({
    queryKey: ["platform accounts", "one", id],
    queryFn: () => callConsoleApi("GET /console/api/operator/accounts/{id}", { path: { id } }),
  });

export const accountKeysQuery = (id: string) =>
  queryOptions({
    queryKey: ["platform accounts", "keys", id],
    queryFn: () => callConsoleApi("GET /console/api/operator/accounts/{id}/keys", { path: { id } }),
  });

const readAgain = () =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ["platform accounts"] }),
    queryClient.invalidateQueries({ queryKey: AUDIT_QUERY_KEY }),
  ]);

export const useGrantCredit = (id: string) =>
  useMutation({
    mutationFn: (body: { amount_micro: string; reason: string }) =>
      callConsoleApi("POST /console/api/operator/accounts/{id}/grant", { path: { id }, body }),
    onSuccess: readAgain,
  });

export const useSetSuspension = (id: string) =>
  useMutation({
    mutationFn: ({ verb, reason }: { verb: "suspend" | "restore"; reason: string }) => {
      const sent = { path: { id }, body: { reason } };
      return verb === "suspend"
        ? callConsoleApi("POST /console/api/operator/accounts/{id}/suspend", sent)
        : callConsoleApi("POST /console/api/operator/accounts/{id}/restore", sent);
    },
    onSuccess: readAgain,
  });

export const useSetKeyLimits = (keyId: string) =>
  useMutation({
    mutationFn: (body: KeyLimitsRequest) =>
      callConsoleApi("PUT /console/api/operator/keys/{id}/limits", { path: { id: keyId }, body }),
    onSuccess: readAgain,
  });
