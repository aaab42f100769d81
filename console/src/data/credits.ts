/** Purchases of credit, alerts and top-ups. Without payments the API returns 404 `billing_disabled`. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import { ApiFault } from "../api/fault.ts";
import type { CheckoutRequest, Credits, TopUpRequest } from "../api/types.ts";
import { balanceQuery } from "./money.ts";
import { pageByPage } from "./pages.ts";
import { queryClient } from "./query-client.ts";

export const packsQuery = queryOptions({
  queryKey: ["packs"],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: () => call("GET /console/api/packs"),
});

export const isBillingDisabled = (error: unknown): boolean =>
  error instanceof ApiFault && error.code === "billing_disabled";

/** Spending, the alert, automatic top-up and the saved card. */
export const creditsQuery = queryOptions({
  queryKey: ["credits"],
  queryFn: () => call("GET /console/api/credits"),
});

/** Returns the address of the payment provider's page. */
export const useCheckout = () =>
  useMutation({ mutationFn: (body: CheckoutRequest) => call("POST /console/api/credits/checkout", { body }) });

const PAGE = 30;

export const statementQuery = pageByPage(["statement"], (cursor) =>
  call("GET /console/api/statement", { query: { cursor, limit: PAGE } }),
);

export const paymentsQuery = pageByPage(["payments"], (cursor) =>
  call("GET /console/api/payments", { query: { cursor, limit: PAGE } }),
);

/** Returns the address of the payment provider's receipt. */
export const useReceipt = () =>
  useMutation({ mutationFn: (id: string) => call("GET /console/api/payments/{id}/receipt", { path: { id } }) });

const keep = (credits: Credits): void => void queryClient.setQueryData(creditsQuery.queryKey, credits);

export const useSetAlert = () =>
  useMutation({
    mutationFn: (mark: string | null) =>
      call("PUT /console/api/credits/alert", { body: mark === null ? {} : { mark_micro: mark } }),
    onSuccess: keep,
  });

export const useSetTopUp = () =>
  useMutation({
    mutationFn: (body: TopUpRequest) => call("PUT /console/api/credits/top-up", { body }),
    onSuccess: keep,
  });

/** Returns the address of the payment provider's page. */
export const useSaveCard = () => useMutation({ mutationFn: () => call("POST /console/api/credits/method") });

export const useRemoveCard = () =>
  useMutation({ mutationFn: () => call("DELETE /console/api/credits/method"), onSuccess: keep });

const NEWEST = 100;

/** The newest lines of the ledger, read repeatedly until a purchase's credit is among them. */
export const newestLinesQuery = queryOptions({
  queryKey: ["ledger newest"],
  queryFn: () => call("GET /console/api/ledger", { query: { limit: NEWEST } }),
});

export async function readMoneyAgain(): Promise<void> {
  const keys = [balanceQuery, creditsQuery, statementQuery, paymentsQuery].map(({ queryKey }) => queryKey);
  await Promise.all(keys.map((queryKey) => queryClient.invalidateQueries({ queryKey })));
}
