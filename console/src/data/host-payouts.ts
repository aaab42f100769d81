/** Queries and changes for a host's payouts and payout method. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { NewPayoutMethod, PayoutMethod } from "../api/types.ts";
import { paginatedQuery } from "./pagination.ts";
import { queryClient } from "./query-client.ts";

export const hostPayoutsQuery = paginatedQuery(["earnings", "payouts"], (cursor) =>
  call("GET /console/api/payouts", { query: { cursor } }),
);

export const payoutMethodQuery = queryOptions({
  queryKey: ["earnings", "payout method"],
  queryFn: () => call("GET /console/api/payout-method"),
});

const put = (found: PayoutMethod): void => void queryClient.setQueryData(payoutMethodQuery.queryKey, found);

export const useSetPayoutMethod = () =>
  useMutation({
    mutationFn: (body: NewPayoutMethod) => call("PUT /console/api/payout-method", { body }),
    onSuccess: put,
  });

export const useRemovePayoutMethod = () =>
  useMutation({ mutationFn: () => call("DELETE /console/api/payout-method"), onSuccess: put });
