/** The platform as its operators see it: figures, the ledger check, the audit log. */
import { queryOptions } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import { pageByPage } from "./pages.ts";

const READ_AGAIN_MS = 30_000;

export const overviewQuery = (from: string) =>
  queryOptions({
    queryKey: ["platform", "overview", from],
    refetchInterval: READ_AGAIN_MS,
    queryFn: () => call("GET /console/api/operator/overview", { query: { from } }),
  });

/** Recomputes every figure, so it is asked for by hand and never repeated by itself. */
export const ledgerCheckQuery = queryOptions({
  queryKey: ["platform", "ledger check"],
  staleTime: Number.POSITIVE_INFINITY,
  refetchInterval: false,
  queryFn: async () => ({
    ...(await call("GET /console/api/operator/ledger/check")),
    checkedAt: Math.floor(Date.now() / 1000),
  }),
});

export const auditQuery = pageByPage(["platform", "audit"], (cursor) =>
  call("GET /console/api/operator/audit", { query: { cursor } }),
);
