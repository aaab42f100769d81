import assert from "node:assert/strict";
import { test } from "node:test";
import {
  computeTimeSpan,
  extractView,
  isFiltered,
  limitViewToSpan,
  readRequestsSearch,
  removeSpanFromView,
} from "./requests-search.ts";

const NOW = Date.UTC(2026, 10, 15, 6, 33, 20);

test("drops each invalid URL parameter, and converts the parameters of older URLs to a filter", () => {
  const search = readRequestsSearch({
    model: "tiny-3b",
    key: "",
    outcome: 429,
    from: ["x"],
    evil: "<b>",
    request: "req_1",
    sort: "name",
    range: "90d",
  });
  assert.deepEqual(
    search,
    { q: "model:tiny-3b outcome:429", request: "req_1", model: undefined, outcome: undefined },
    "former addresses still work, and the router forgets their fields",
  );
  assert.deepEqual(JSON.stringify(extractView(search)), '{"q":"model:tiny-3b outcome:429"}');
  const view = readRequestsSearch({ sort: "cost", range: "7d", q: "cost>0.01", label: "a b" });
  assert.deepEqual(view, { sort: "cost", range: "7d", q: 'cost>0.01 label:"a b"', label: undefined });
  assert.deepEqual([isFiltered({ sort: "cost" }), isFiltered(view)], [false, true]);
});

test("interprets the days of a date range in the reader's time zone, and includes the whole last day", () => {
  const { from = "", to = "" } = computeTimeSpan({ from: "2026-11-15", to: "2026-11-15" }, NOW);
  assert.equal(new Date(from).getTime(), new Date(2026, 10, 15).getTime());
  assert.equal(new Date(to).getTime(), new Date(2026, 10, 16).getTime());
});

test("leaves an exact time unchanged", () => {
  assert.deepEqual(computeTimeSpan({ from: "2026-11-15T06:30:00Z" }, NOW), { from: "2026-11-15T06:30:00Z" });
});

test("starts a preset range at the start of the first chart bucket, and ignores the preset if a start or end is given", () => {
  const starts = {
    "1h": "2026-11-15T05:35",
    "6h": "2026-11-15T00:35",
    "24h": "2026-11-14T07:00",
    "30d": "2026-10-17T00:00",
  };
  for (const [range, start] of Object.entries(starts)) {
    assert.deepEqual(computeTimeSpan({ range: range as "1h" }, NOW), { from: `${start}:00.000Z` }, range);
  }
  assert.equal("from" in computeTimeSpan({ range: "1h", to: "2026-11-15" }, NOW), false);
});

test("adds a 30-day range to a sort order that needs a range; removing the range resets the sort order", () => {
  const needs = [
    { sort: "duration" },
    { sort: "tokens", q: "model:tiny-3b" },
    { sort: "cost", q: "label:nightly" },
    { sort: "cost", q: "outcome:ok -label:nightly" },
    { sort: "cost", q: "ttft>1s" },
  ] as const;
  for (const { sort, ...view } of needs) {
    assert.deepEqual(limitViewToSpan({ sort, ...view, to: "2026-11-15" }), { sort, ...view, range: "30d" });
    for (const span of [{ range: "1h" }, { from: "2026-11-15" }] as const) {
      assert.deepEqual(limitViewToSpan({ sort, ...view, ...span }), { sort, ...view, ...span });
    }
    assert.deepEqual(removeSpanFromView({ sort, ...view, range: "30d" }), view);
  }
  for (const view of [{ sort: "cost" }, { sort: "cost", q: "cost>0.01 model:a" }, { q: "label:nightly" }] as const) {
    assert.deepEqual(limitViewToSpan(view), view);
    assert.deepEqual(removeSpanFromView({ ...view, range: "7d" }), view);
  }
});
