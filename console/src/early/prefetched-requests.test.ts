import assert from "node:assert/strict";
import { test } from "node:test";
import { findPrefetchedVisit } from "./prefetched-requests.ts";

const NOW = Date.parse("2026-11-16T17:45:00Z");
const ask = (pathname: string, search = ""): string[] | undefined => {
  const visit = findPrefetchedVisit({ pathname: `/console${pathname}`, search });
  return visit?.page.questions(visit.range, NOW);
};

test("requests data for the time range in the URL, or for one day by default", () => {
  assert.deepEqual(ask("/performance")?.[0], "/console/api/performance?range=24h&by=model");
  assert.deepEqual(ask("/performance", "?range=7d")?.[0], "/console/api/performance?range=7d&by=model");
});

test("requests the overview page's sums from the start of an hour, a UTC day and the UTC month", () => {
  assert.ok(ask("/overview")?.includes("/console/api/usage?by=outcome&from=2026-11-15T18%3A00%3A00.000Z"));
  assert.ok(ask("/overview", "?range=7d")?.includes("/console/api/usage?by=outcome&from=2026-11-10T00%3A00%3A00.000Z"));
  assert.ok(ask("/overview")?.includes("/console/api/usage?by=day&from=2026-11-01T00%3A00%3A00.000Z"));
});

test("sends no early request (prefetch) for an unknown page, parameter or time range", () => {
  assert.equal(ask("/keys"), undefined);
  assert.equal(ask("/requests", "?model=tiny-3b"), undefined);
  assert.equal(ask("/requests", "?range=7d"), undefined);
  assert.equal(ask("/overview", "?range=1h"), undefined);
  assert.equal(ask("/overview", "?range=constructor"), undefined);
  assert.equal(ask("/constructor"), undefined);
});
