/** The platform as its operators see it: figures, the ledger check, the audit log. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";

const READ_AGAIN_MS = 30_000;

export const overviewQuery = (from: string) =>
  queryOptions({
    queryKey: ["platform", "overview", from],
    refetchInterval: READ_AGAIN_MS,
    queryFn: () => ask(api.GET("/console/api/operator/overview", { params: { query: { from } } })),
  });

/** Recomputes every figure, so it is asked for by hand and never repeated by itself. */
export const ledgerCheckQuery = queryOptions({
  queryKey: ["platform", "ledger check"],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async () => ({
    ...(await ask(api.GET("/console/api/operator/ledger/check"))),
    checkedAt: Math.floor(Date.now() / 1000),
  }),
});

export const auditQuery = infiniteQueryOptions({
  queryKey: ["platform", "audit"],
  initialPageParam: undefined as string | undefined,
  queryFn: ({ pageParam: cursor }) =>
    ask(api.GET("/console/api/operator/audit", { params: { query: cursor === undefined ? {} : { cursor } } })),
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});
