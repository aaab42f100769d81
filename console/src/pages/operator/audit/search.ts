/** The filters of the audit log as they stand in the address bar, so that a view can be bookmarked and sent on. */
import type { AuditFilter } from "../../../api/types.ts";
import { startOfLocalDay } from "../../requests/search.ts";
import { ACTION_NAMES } from "./words.ts";

/** What an act can have come to, beside what it was done to. */
export const OUTCOMES = ["done", "refused", "failed", "running"] as const;
const TEXTS = ["operator", "subject", "account", "from", "to"] as const;

export function readAuditSearch(search: Record<string, unknown>): AuditFilter {
  const found: AuditFilter = {};
  for (const field of TEXTS) {
    const value = search[field];
    // The router reads what looks like a number as one.
    if ((typeof value === "string" || typeof value === "number") && value !== "") found[field] = String(value);
  }
  if (typeof search.action === "string" && ACTION_NAMES.includes(search.action)) found.action = search.action;
  const outcome = OUTCOMES.find((each) => each === search.outcome);
  return outcome === undefined ? found : { ...found, outcome };
}

/** As the API wants it: `from` and `to` are local days, both included. What is no such day is the API's to refuse. */
export function apiFilterOf({ from, to, ...rest }: AuditFilter): AuditFilter {
  return {
    ...rest,
    ...(from !== undefined && { from: startOfLocalDay(from, 0) }),
    ...(to !== undefined && { to: startOfLocalDay(to, 1) }),
  };
}
