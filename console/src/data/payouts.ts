/** Paying hosts in batches. */
import { infiniteQueryOptions, useMutation } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";
import { queryClient } from "./query-client.ts";

export const payoutsQuery = infiniteQueryOptions({
  queryKey: ["payouts", "list"],
  initialPageParam: undefined as string | undefined,
  queryFn: ({ pageParam: cursor }) =>
    ask(api.GET("/console/api/operator/payouts", { params: { query: cursor === undefined ? {} : { cursor } } })),
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});

/** The batch, and its lines in pages. */
export const payoutQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ["payouts", "one", id],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      ask(
        api.GET("/console/api/operator/payouts/{id}", {
          params: { path: { id }, query: cursor === undefined ? {} : { cursor } },
        }),
      ),
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

export const payoutCsvPath = (id: string): string => `/console/api/operator/payouts/${id}/csv`;

const readAgain = () =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ["payouts"] }),
    queryClient.invalidateQueries({ queryKey: ["platform"] }),
  ]);

export const useCreatePayout = () =>
  useMutation({
    mutationFn: (body: { note: string; minimum_micro?: string }) =>
      ask(api.POST("/console/api/operator/payouts", { body })),
    onSuccess: readAgain,
  });

export const useMarkPaid = (id: string) =>
  useMutation({
    mutationFn: () => ask(api.POST("/console/api/operator/payouts/{id}/paid", { params: { path: { id } } })),
    onSuccess: readAgain,
  });
