/**
 * The URLs that the early script requests for the pages where people usually enter the console. They must equal the
 * pages' own requests, otherwise they are wasted (tested by `e2e/console/prefetched-requests.test.ts`). Pure.
 */
import { buildRouteUrl } from "../api/route-urls.ts";
import { BUCKETED_RANGES, computeBucketedSpan, isTimeRange, TIME_RANGES, type TimeRange } from "../time-range.ts";
import { daysBefore, startOfUtcDay, startOfUtcMonth } from "../utc-dates.ts";

interface EarlyPage {
  /** The role for which the page exists. */
  of: "builder" | "operator";
  /** The file with the page's code, below `src/`. */
  code: string;
  /** The time ranges that the page's URL may name. Without one, the page shows the last day. */
  ranges: readonly TimeRange[];
  questions: (range: TimeRange, nowMs: number) => string[];
}

const KEYS = buildRouteUrl("GET /console/api/keys", { query: { limit: 100 } });
const RATES = buildRouteUrl("GET /v1/catalog/rates");
const BALANCE = buildRouteUrl("GET /console/api/balance");

const unfunded = (from: Date): string =>
  buildRouteUrl("GET /console/api/unfunded", { query: { from: from.toISOString() } });

const refusals = (from: Date): string =>
  buildRouteUrl("GET /console/api/refusals", { query: { from: from.toISOString() } });

/** The pages with early requests, by path. */
export const PREFETCHED_PAGES: Record<string, EarlyPage> = {
  "/overview": {
    of: "builder",
    code: "pages/overview/overview-page.tsx",
    ranges: BUCKETED_RANGES,
    questions(asked, nowMs) {
      const range = BUCKETED_RANGES.find((one) => one === asked) ?? "24h";
      const span = computeBucketedSpan(range, nowMs);
      const from = span.from.toISOString();
      return [
        buildRouteUrl("GET /console/api/performance", { query: { range } }),
        buildRouteUrl("GET /console/api/usage", {
          query: { by: "day", from: startOfUtcMonth(nowMs).toISOString() },
        }),
        buildRouteUrl("GET /console/api/usage", { query: { by: span.by, split: "model", from } }),
        buildRouteUrl("GET /console/api/usage", { query: { by: "outcome", from } }),
        // A browser sends six requests at a time. Two of the first six are fast, so the others start soon.
        BALANCE,
        unfunded(span.from),
        refusals(computeBucketedSpan("24h", nowMs).from),
        buildRouteUrl("GET /console/api/usage", { query: { by: "label", from } }),
        buildRouteUrl("GET /console/api/requests", { query: { limit: 8 } }),
      ];
    },
  },
  "/performance": {
    of: "builder",
    code: "pages/performance/performance-page.tsx",
    ranges: ["1h", "6h", "24h", "7d", "30d"],
    questions: (range) => [
      buildRouteUrl("GET /console/api/performance", { query: { range, by: "model" } }),
      KEYS,
      RATES,
    ],
  },
  "/requests": {
    of: "builder",
    code: "pages/requests/requests-page.tsx",
    ranges: [],
    questions: (_range, nowMs) => [
      buildRouteUrl("GET /console/api/requests", { query: { sort: "newest", limit: 50 } }),
      buildRouteUrl("GET /console/api/requests/histogram"),
      buildRouteUrl("GET /console/api/requests/totals"),
      buildRouteUrl("GET /console/api/usage", {
        query: { by: "label", from: daysBefore(startOfUtcDay(nowMs), 90).toISOString() },
      }),
      unfunded(computeBucketedSpan("30d", nowMs).from),
      refusals(computeBucketedSpan("7d", nowMs).from),
      BALANCE,
      KEYS,
      RATES,
    ],
  },
  "/credits": {
    of: "builder",
    code: "pages/credits/credits-page.tsx",
    ranges: [],
    questions: () => [
      buildRouteUrl("GET /console/api/statement", { query: { limit: 30 } }),
      BALANCE,
      buildRouteUrl("GET /console/api/credits"),
    ],
  },
  "/operator": {
    of: "operator",
    code: "pages/operator/platform/platform-page.tsx",
    ranges: TIME_RANGES,
    questions: (range) => [
      buildRouteUrl("GET /console/api/operator/triage"),
      buildRouteUrl("GET /console/api/operator/incidents"),
      buildRouteUrl("GET /console/api/operator/performance", { query: { range } }),
    ],
  },
};

interface Visit {
  page: EarlyPage;
  range: TimeRange;
}

/** Undefined for pages without early requests and for URLs with other parameters. */
export function findPrefetchedVisit({ pathname, search }: { pathname: string; search: string }): Visit | undefined {
  const page = PREFETCHED_PAGES[pathname.replace(/^\/console/, "")];
  if (page === undefined) return undefined;
  const { range, ...others } = Object.fromEntries(new URLSearchParams(search));
  if (Object.keys(others).length > 0) return undefined;
  if (range === undefined) return { page, range: "24h" };
  return isTimeRange(range) && page.ranges.includes(range) ? { page, range } : undefined;
}
