/** Queries and changes for operators who pay hosts in batches. */
import { useMutation } from "@tanstack/react-query";
import type { WithheldFilter, WithheldReleaseRequest } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import { paginatedQuery } from "./pagination.ts";
import { AUDIT_QUERY_KEY } from "./platform-overview.ts";
import { queryClient } from "./query-client.ts";

export const payoutsQuery = paginatedQuery(["payouts", "list"], (cursor) =>
  callConsoleApi("GET /console/api/operator/payouts", { query: { cursor } }),
);

/** A payout batch with its lines in pages. */
export const payoutQuery = (id: string) =>
  paginatedQuery(["payouts", "one", id], (cursor) =>
    callConsoleApi("GET /console/api/operator/payouts/{id}", { path: { id }, query: { cursor } }),
  );

const readAgain = () =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ["payouts"] }),
    queryClient.invalidateQueries({ queryKey: ["platform"] }),
  ]);

export const useCreatePayout = () =>
  useMutation({
    mutationFn: (body: { note: string; minimum_micro?: string }) =>
      callConsoleApi("POST /console/api/operator/payouts", { body }),
    onSuccess: readAgain,
  });

export const useMarkPaid = (id: string) =>
  useMutation({
    mutationFn: () => callConsoleApi("POST /console/api/operator/payouts/{id}/paid", { path: { id } }),
    onSuccess: readAgain,
  });

export const platformWithheldSharesQuery = (filter: WithheldFilter) =>
  paginatedQuery(["payouts", "withheld", filter], (cursor) =>
    callConsoleApi("GET /console/api/operator/withheld", { query: { ...filter, cursor } }),
  );

export const useReleaseWithheldShares = () =>
  useMutation({
    mutationFn: (body: WithheldReleaseRequest) =>
      callConsoleApi("POST /console/api/operator/withheld/release", { body }),
    onSuccess: () => Promise.all([readAgain(), queryClient.invalidateQueries({ queryKey: AUDIT_QUERY_KEY })]),
  });
