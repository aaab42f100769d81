/** The platform as its operators see it: figures, the ledger check, the audit log. */
import { keepPreviousData, queryOptions, useMutation } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { AuditFilter } from "../api/types.ts";
import type { TimeRange } from "../time-range.ts";
import { pageByPage } from "./pages.ts";
import { queryClient } from "./query-client.ts";

const READ_AGAIN_MS = 30_000;
const PERFORMANCE = ["platform", "performance"];
/** Of every view of the log: what operators do is read again at once. */
export const AUDIT = ["platform", "audit"];

export const platformPerformanceQuery = (range: TimeRange) =>
  queryOptions({
    queryKey: [...PERFORMANCE, range],
    refetchInterval: READ_AGAIN_MS,
    placeholderData: keepPreviousData,
    queryFn: () => call("GET /console/api/operator/performance", { query: { range } }),
  });

/** Recomputes every figure, so it is asked for by hand and never repeated by itself. */
export const ledgerCheckQuery = queryOptions({
  queryKey: ["platform", "ledger check"],
  staleTime: Number.POSITIVE_INFINITY,
  refetchInterval: false,
  queryFn: () => call("GET /console/api/operator/ledger/check"),
});

/** Proves the books now; pages that show the last verdict read it again. */
export const useProof = () =>
  useMutation({
    mutationFn: () => queryClient.fetchQuery({ ...ledgerCheckQuery, staleTime: 0 }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: PERFORMANCE }),
  });

export const auditQuery = (filter: AuditFilter) =>
  pageByPage([...AUDIT, filter], (cursor) => call("GET /console/api/operator/audit", { query: { ...filter, cursor } }));
