import assert from "node:assert/strict";
import { test } from "node:test";
import { findOldestRead, isQueryDataOutdated } from "./data-age.ts";

const READ = { dataUpdatedAt: 100_000, failureCount: 0, everyMs: 20_000 };
const at = (nowMs: number, seenSinceMs = 0) => ({ nowMs, seenSinceMs });

test("marks a figure as old after twice its refresh interval", () => {
  assert.equal(isQueryDataOutdated(READ, at(140_000)), false);
  assert.equal(isQueryDataOutdated(READ, at(140_001)), true);
});

test("marks a figure as old after one refresh interval if the refresh failed", () => {
  assert.equal(isQueryDataOutdated({ ...READ, failureCount: 1 }, at(120_000)), false);
  assert.equal(isQueryDataOutdated({ ...READ, failureCount: 1 }, at(120_001)), true);
});

test("does not mark a figure as old right after the page becomes visible", () => {
  assert.equal(isQueryDataOutdated(READ, at(900_000, 899_000)), false);
  assert.equal(isQueryDataOutdated(READ, at(940_000, 899_000)), true);
});

test("never marks a figure without automatic refresh as old", () => {
  assert.equal(isQueryDataOutdated({ ...READ, everyMs: false }, at(900_000)), false);
  assert.equal(isQueryDataOutdated({ ...READ, dataUpdatedAt: 0, failureCount: 3 }, at(900_000)), false);
});

test("returns the time of the page's oldest outdated figure", () => {
  const fresh = { ...READ, dataUpdatedAt: 139_000 };
  assert.equal(findOldestRead([fresh, READ, { ...READ, dataUpdatedAt: 90_000 }], at(150_000)), 90_000);
  assert.equal(findOldestRead([fresh], at(150_000)), undefined);
});
