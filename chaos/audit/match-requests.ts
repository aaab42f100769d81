/**
 * Matches clients' observations with records: by request ID if the client got one, otherwise by account, endpoint,
 * model and `max_tokens`.
 */
import type { RequestObservation } from "@tollgate/stage/load/observation.ts";
import { parsePublicUuid } from "../uuid-of-public-id.ts";
import { computeOutputCap } from "./expected-charges.ts";
import type { LedgerRecord } from "./ledger-state.ts";

interface Matched {
  /** Clients' observations of requests that may have been charged, each with its record if it has one. */
  pairs: { sight: RequestObservation; record: LedgerRecord | undefined }[];
  /** Records for which no client sent a request. */
  unexplained: LedgerRecord[];
}

export function matchRequests(sights: readonly RequestObservation[], records: readonly LedgerRecord[]): Matched {
  const byId = new Map(records.map((record) => [record.id, record]));
  const pairs: Matched["pairs"] = [];
  const nameless: Matched["pairs"] = [];
  for (const sight of sights) {
    if (sight.endpoint === "reading") continue;
    const id = sight.requestId === null ? undefined : parsePublicUuid("req", sight.requestId);
    const pair = { sight, record: id === undefined ? undefined : byId.get(id) };
    pairs.push(pair);
    if (id !== undefined) byId.delete(id);
    // A gateway's error contains the request ID. An error without one came from the load balancer, which did not
    // forward the request.
    else if (sight.end !== "refused") nameless.push(pair);
  }
  const left = Map.groupBy(byId.values(), markOfRecord);
  for (const cap of ["known", "unknown"] as const) {
    for (const pair of nameless.filter(({ record }) => record === undefined)) {
      pair.record = left.get(markOf(cap === "known" ? pair.sight : { ...pair.sight, cap: null }))?.shift();
      if (pair.record !== undefined) byId.delete(pair.record.id);
    }
  }
  return { pairs, unexplained: [...byId.values()].filter(({ endpoint }) => endpoint !== "models") };
}

const markOf = ({ account, endpoint, model, cap }: RequestObservation): string =>
  [account, endpoint, model, cap].join(" ");
const markOfRecord = (record: LedgerRecord): string =>
  [record.account, record.endpoint, record.model, computeOutputCap(record)].join(" ");
