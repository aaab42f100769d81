/** The filters of the request history as they stand in the address bar, so that a view can be bookmarked and sent on. */
import type { RequestFilter } from "../../api/types.ts";

export interface RequestsSearch extends RequestFilter {
  /** The request whose details are open. */
  request?: string;
}

const FIELDS = ["model", "key", "outcome", "from", "to", "request"] as const;

export function readRequestsSearch(search: Record<string, unknown>): RequestsSearch {
  const found: RequestsSearch = {};
  for (const field of FIELDS) {
    const value = search[field];
    // The router reads what looks like a number as one.
    if ((typeof value === "string" || typeof value === "number") && value !== "") found[field] = String(value);
  }
  return found;
}

export function filterOf({ request: _open, ...filter }: RequestsSearch): RequestFilter {
  return filter;
}

/** As the API wants it: `from` and `to` are local days, both included. */
export function apiFilterOf({ from, to, ...rest }: RequestFilter): RequestFilter {
  return {
    ...rest,
    ...(from !== undefined && { from: startOfLocalDay(from, 0) }),
    ...(to !== undefined && { to: startOfLocalDay(to, 1) }),
  };
}

function startOfLocalDay(text: string, plusDays: number): string {
  const day = localDay(text);
  day?.setDate(day.getDate() + plusDays);
  return day?.toISOString() ?? text;
}

/** A day of the address bar, `2026-11-15`, in the reader's own time zone. What is no such day is the API's to refuse. */
export function localDay(text: string): Date | undefined {
  const [, year, month, date] = (/^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || date === undefined) return undefined;
  const day = new Date(year, month - 1, date);
  return day.getMonth() === month - 1 && day.getDate() === date ? day : undefined;
}
