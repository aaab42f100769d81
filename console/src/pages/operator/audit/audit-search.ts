/** The audit log's filters in the URL's query parameters, so that a view can be bookmarked and shared. */
import type { AuditFilter } from "../../../api/answer-types.ts";
import { computeLocalDayStart } from "../../requests/requests-search.ts";
import { ACTION_NAMES } from "./audit-sentences.ts";

/** The possible outcomes of an action. */
export const AUDIT_OUTCOME_NAMES = ["done", "refused", "failed", "running"] as const;
const TEXTS = ["operator", "subject", "account", "from", "to"] as const;

export function readAuditSearch(search: Record<string, unknown>): AuditFilter {
  const found: AuditFilter = {};
  for (const field of TEXTS) {
    const value = search[field];
    // The router parses text that looks like a number as a number.
    if ((typeof value === "string" || typeof value === "number") && value !== "") found[field] = String(value);
  }
  if (typeof search.action === "string" && ACTION_NAMES.includes(search.action)) found.action = search.action;
  const outcome = AUDIT_OUTCOME_NAMES.find((each) => each === search.outcome);
  return outcome === undefined ? found : { ...found, outcome };
}

/** Converts the filter for the API. `from` and `to` are local days, both inclusive. The API refuses invalid days. */
export function convertToApiFilter({ from, to, ...rest }: AuditFilter): AuditFilter {
  return {
    ...rest,
    ...(from !== undefined && { from: computeLocalDayStart(from, 0) }),
    ...(to !== undefined && { to: computeLocalDayStart(to, 1) }),
  };
}
