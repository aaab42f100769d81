/**
 * Queries and changes for purchases, alerts and top-ups. A platform without payments returns 404 `billing_disabled`.
 */
import { queryOptions, useMutation } from "@tanstack/react-query";
import type { CheckoutRequest, Credits, TopUpRequest } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import { ApiFault } from "../api/api-fault.ts";
import { balanceQuery } from "./balance-and-usage.ts";
import { paginatedQuery } from "./pagination.ts";
import { queryClient } from "./query-client.ts";

export const creditPacksQuery = queryOptions({
  queryKey: ["packs"],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: () => callConsoleApi("GET /console/api/packs"),
});

export const isBillingDisabled = (error: unknown): boolean =>
  error instanceof ApiFault && error.code === "billing_disabled";

/** Spending, the alert, automatic top-up and the saved card. */
export const creditsQuery = queryOptions({
  queryKey: ["credits"],
  queryFn: () => callConsoleApi("GET /console/api/credits"),
});

/** Starts a purchase. Resolves to the URL of the payment provider's checkout page. */
export const useCheckout = () =>
  useMutation({
    mutationFn: (body: CheckoutRequest) => callConsoleApi("POST /console/api/credits/checkout", { body }),
  });

const PAGE = 30;

export const statementQuery = paginatedQuery(["statement"], (cursor) =>
  callConsoleApi("GET /console/api/statement", { query: { cursor, limit: PAGE } }),
);

export const paymentsQuery = paginatedQuery(["payments"], (cursor) =>
  callConsoleApi("GET /console/api/payments", { query: { cursor, limit: PAGE } }),
);

/** Resolves to the URL of the payment provider's receipt. */
export const usePaymentReceipt = () =>
  useMutation({
    mutationFn: (id: string) => callConsoleApi("GET /console/api/payments/{id}/receipt", { path: { id } }),
  });

const keep = (credits: Credits): void => void queryClient.setQueryData(creditsQuery.queryKey, credits);

export const useSetCreditAlert = () =>
  useMutation({
    mutationFn: (mark: string | null) =>
      callConsoleApi("PUT /console/api/credits/alert", { body: mark === null ? {} : { mark_micro: mark } }),
    onSuccess: keep,
  });

export const useSetTopUp = () =>
  useMutation({
    mutationFn: (body: TopUpRequest) => callConsoleApi("PUT /console/api/credits/top-up", { body }),
    onSuccess: keep,
  });

/** Starts saving a card. Resolves to the URL of the payment provider's page. */
export const useSaveCard = () => useMutation({ mutationFn: () => callConsoleApi("POST /console/api/credits/method") });

export const useRemoveCard = () =>
  useMutation({ mutationFn: () => callConsoleApi("DELETE /console/api/credits/method"), onSuccess: keep });

const NEWEST = 100;

/** The newest statement lines, polled until they include the credit of a purchase. */
export const newestLedgerLinesQuery = queryOptions({
  queryKey: ["ledger newest"],
  queryFn: () => callConsoleApi("GET /console/api/ledger", { query: { limit: NEWEST } }),
});

export async function refetchMoney(): Promise<void> {
  const keys = [balanceQuery, creditsQuery, statementQuery, paymentsQuery].map(({ queryKey }) => queryKey);
  await Promise.all(keys.map((queryKey) => queryClient.invalidateQueries({ queryKey })));
}
