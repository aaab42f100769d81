/** The request list's state in the URL's query parameters, so that a view can be bookmarked and shared. */
import type { RequestFilter, RequestSort } from "../../api/answer-types.ts";
import { convertLocalTime } from "../../locale.ts";
import { type FilterField, formatCategoricalTerm, parseFilter } from "../../requests/filter-text.ts";
import { computeBucketedSpan, isTimeRange, type TimeRange } from "../../time-range.ts";

/** The quick ranges. Without a quick range and without days, the list shows all requests. */
export const REQUEST_RANGES = ["1h", "6h", "24h", "7d", "30d"] as const satisfies readonly TimeRange[];
type RequestRange = (typeof REQUEST_RANGES)[number];
export const isRequestRange = (range: TimeRange): range is RequestRange => REQUEST_RANGES.some((one) => one === range);

/** The filter text, the time span (days or times in `from` and `to`, or a quick range), and the order. */
export interface RequestsView {
  q?: string;
  from?: string;
  to?: string;
  range?: RequestRange;
  sort?: Exclude<RequestSort, "newest">;
}

interface RequestsSearch extends RequestsView {
  /** The request whose details are open. */
  request?: string;
}

const FIELDS = ["q", "from", "to", "request"] as const;
/** Former query parameters, which old bookmarks may still contain. */
const FORMER = ["model", "key", "outcome", "label"] as const;
type Former = (typeof FORMER)[number];
const SORTS = ["oldest", "cost", "tokens", "duration"] as const;

export function readRequestsSearch(search: Record<string, unknown>): RequestsSearch {
  const found: RequestsSearch & { [former in Former]?: undefined } = {};
  for (const field of FIELDS) {
    const value = textOf(search[field]);
    if (value !== undefined) found[field] = value;
  }
  for (const field of FORMER) {
    const value = textOf(search[field]);
    if (value === undefined) continue;
    // Deletes the old parameter, because the router keeps unknown parameters.
    found[field] = undefined;
    found.q =
      found.q === undefined ? formatCategoricalTerm(field, value) : `${found.q} ${formatCategoricalTerm(field, value)}`;
  }
  const sort = SORTS.find((one) => one === search.sort);
  const range = isTimeRange(search.range) ? REQUEST_RANGES.find((one) => one === search.range) : undefined;
  return { ...found, ...(sort !== undefined && { sort }), ...(range !== undefined && { range }) };
}

/** The router parses text that looks like a number as a number. */
const textOf = (value: unknown): string | undefined =>
  (typeof value === "string" || typeof value === "number") && value !== "" ? String(value) : undefined;

export function extractView({ request: _open, ...view }: RequestsSearch): RequestsView {
  return view;
}

/** Whether the view excludes any requests. The order does not count, because it excludes none. */
export const isFiltered = ({ sort: _sort, ...filters }: RequestsView): boolean =>
  Object.values(filters).some((value) => value !== undefined);

/** Filters that the API's index by cost does not support. */
const NOT_INDEXED: readonly FilterField[] = ["label", "tokens", "ttft", "duration"];
const SORTED_RANGE = "30d";

/** Whether the API supports the view's order only within a month, because it has no index for the order. */
function needsSpan({ sort, q = "" }: RequestsView): boolean {
  if (sort === "cost") return parseFilter(q).terms.some(({ field }) => NOT_INDEXED.includes(field));
  return sort === "tokens" || sort === "duration";
}

/** Limits the view to the last 30 days if its order needs a time span and none was chosen. */
export function limitViewToSpan(view: RequestsView): RequestsView {
  if (view.from !== undefined || view.range !== undefined || !needsSpan(view)) return view;
  const { to: _to, ...rest } = view;
  return { ...rest, range: SORTED_RANGE };
}

/** Removes the time span, and resets an order that needs one to newest first. */
export function removeSpanFromView({ from: _from, to: _to, range: _range, ...view }: RequestsView): RequestsView {
  if (!needsSpan(view)) return view;
  const { sort: _sort, ...rest } = view;
  return rest;
}

const FIVE_MINUTES = 300_000;
const DAY_MS = 86_400_000;
const SHORT: Partial<Record<RequestRange, number>> = { "1h": 3_600_000, "6h": 6 * 3_600_000 };

/** The start of a quick range, aligned like the charts: to five minutes, an hour or a UTC day. */
export function startOfRange(range: RequestRange, nowMs: number): Date {
  if (range === "24h" || range === "7d" || range === "30d") return computeBucketedSpan(range, nowMs).from;
  return new Date((Math.floor(nowMs / FIVE_MINUTES) + 1) * FIVE_MINUTES - (SHORT[range] ?? 0));
}

/**
 * The time span for the API. `from` and `to` are local days, both inclusive, or exact times. A quick range ends now.
 */
export function computeTimeSpan({ from, to, range }: RequestsView, nowMs: number): Pick<RequestFilter, "from" | "to"> {
  if (from === undefined && to === undefined) {
    return range === undefined ? {} : { from: startOfRange(range, nowMs).toISOString() };
  }
  return {
    ...(from !== undefined && { from: computeLocalDayStart(from, 0) }),
    ...(to !== undefined && { to: computeLocalDayStart(to, 1) }),
  };
}

/**
 * The local start of a day such as `2026-11-15`, or of a day after it. An invalid day is passed on, and the API refuses
 * it.
 */
export const computeLocalDayStart = (text: string, plusDays: number): string =>
  isDay(text) ? new Date(convertLocalTime(Date.parse(text) + plusDays * DAY_MS)).toISOString() : text;

export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}
