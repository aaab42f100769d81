/** Buying credits. Where nothing can be bought the API says 404 `billing_disabled`. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import { ApiFault } from "../api/fault.ts";
import { balanceQuery, ledgerQuery } from "./money.ts";
import { queryClient } from "./query-client.ts";

export const packsQuery = queryOptions({
  queryKey: ["packs"],
  staleTime: Number.POSITIVE_INFINITY,
  refetchInterval: false,
  queryFn: () => call("GET /console/api/packs"),
});

export const isBillingDisabled = (error: unknown): boolean =>
  error instanceof ApiFault && error.code === "billing_disabled";

/** Gives the address of the payment provider's page. */
export const useCheckout = () =>
  useMutation({
    mutationFn: (packId: string) => call("POST /console/api/credits/checkout", { body: { pack_id: packId } }),
  });

const NEWEST = 100;

/** The newest lines of the statement, looked through for a purchase until its credit is there. */
export const newestLinesQuery = queryOptions({
  queryKey: ["ledger newest"],
  queryFn: () => call("GET /console/api/ledger", { query: { limit: NEWEST } }),
});

export async function readMoneyAgain(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: balanceQuery.queryKey }),
    queryClient.invalidateQueries({ queryKey: ledgerQuery.queryKey }),
  ]);
}
