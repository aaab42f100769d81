/** Queries and changes for a host's payouts and payout method. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import type { NewPayoutMethod, PayoutMethod } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import { paginatedQuery } from "./pagination.ts";
import { queryClient } from "./query-client.ts";

export const hostPayoutsQuery = paginatedQuery(["earnings", "payouts"], (cursor) =>
  callConsoleApi("GET /console/api/payouts", { query: { cursor } }),
);

export const payoutMethodQuery = queryOptions({
  queryKey: ["earnings", "payout method"],
  queryFn: () => callConsoleApi("GET /console/api/payout-method"),
});

const put = (found: PayoutMethod): void => void queryClient.setQueryData(payoutMethodQuery.queryKey, found);

export const useSetPayoutMethod = () =>
  useMutation({
    mutationFn: (body: NewPayoutMethod) => callConsoleApi("PUT /console/api/payout-method", { body }),
    onSuccess: put,
  });

export const useRemovePayoutMethod = () =>
  useMutation({ mutationFn: () => callConsoleApi("DELETE /console/api/payout-method"), onSuccess: put });
