/** Operators' queries about the platform: figures, the ledger check, the audit log. */
import { keepPreviousData, queryOptions, useMutation } from "@tanstack/react-query";
import type { AuditFilter, PlatformSetup } from "../api/answer-types.ts";
import { callConsoleApi } from "../api/api-client.ts";
import type { TimeRange } from "../time-range.ts";
import { paginatedQuery } from "./pagination.ts";
import { queryClient } from "./query-client.ts";

const READ_AGAIN_MS = 30_000;
const PERFORMANCE = ["platform", "performance"];
/** The query key of all audit log views, which are refreshed after each action. */
export const AUDIT_QUERY_KEY = ["platform", "audit"];

export const platformPerformanceQuery = (range: TimeRange, to?: string) =>
  queryOptions({
    queryKey: [...PERFORMANCE, range, to],
    refetchInterval: READ_AGAIN_MS,
    placeholderData: keepPreviousData,
    queryFn: () => callConsoleApi("GET /console/api/operator/performance", { query: { range, to } }),
  });

const TRIAGE_MS = 5_000;

/** The platform's health, and the decisions that wait for operators. */
export const triageQuery = queryOptions({
  queryKey: ["platform", "triage"],
  refetchInterval: TRIAGE_MS,
  queryFn: () => callConsoleApi("GET /console/api/operator/triage"),
});

const INCIDENTS = ["platform", "incidents"];

/** The incidents on the status page. */
export const incidentsQuery = queryOptions({
  queryKey: INCIDENTS,
  refetchInterval: READ_AGAIN_MS,
  queryFn: () => callConsoleApi("GET /console/api/operator/incidents"),
});

export const usePublishIncidentUpdate = (id: string) =>
  useMutation({
    mutationFn: (text: string) =>
      callConsoleApi("POST /console/api/operator/incidents/{id}/updates", { path: { id }, body: { text } }),
    onSuccess: () =>
      Promise.all([INCIDENTS, AUDIT_QUERY_KEY].map((queryKey) => queryClient.invalidateQueries({ queryKey }))),
  });

/** The platform's set-up steps that are finished. */
export const setupQuery = queryOptions({
  queryKey: ["platform", "setup"],
  refetchInterval: READ_AGAIN_MS,
  queryFn: () => callConsoleApi("GET /console/api/operator/setup"),
});

export const useTickSetup = () =>
  useMutation({
    mutationFn: (ticked: PlatformSetup["ticked"]) =>
      callConsoleApi("PUT /console/api/operator/setup", { body: { ticked } }),
    onSuccess: (setup) => queryClient.setQueryData(setupQuery.queryKey, setup),
  });

/** The audit log records every look-up, so this query is neither refreshed nor retried automatically. */
export const platformRequestQuery = (id: string) =>
  queryOptions({
    queryKey: ["platform", "request", id],
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    refetchOnWindowFocus: false,
    queryFn: () => callConsoleApi("GET /console/api/operator/requests/{id}", { path: { id } }),
  });

/** The ledger check recomputes every figure, so it runs only on request. */
export const ledgerCheckQuery = queryOptions({
  queryKey: ["platform", "ledger check"],
  staleTime: Number.POSITIVE_INFINITY,
  refetchInterval: false,
  queryFn: () => callConsoleApi("GET /console/api/operator/ledger/check"),
});

/** Runs the ledger check now, and updates the pages that show its latest result. */
export const useCheckLedger = () =>
  useMutation({
    mutationFn: () => queryClient.fetchQuery({ ...ledgerCheckQuery, staleTime: 0 }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: PERFORMANCE }),
  });

export const auditQuery = (filter: AuditFilter) =>
  paginatedQuery([...AUDIT_QUERY_KEY, filter], (cursor) =>
    callConsoleApi("GET /console/api/operator/audit", { query: { ...filter, cursor } }),
  );
