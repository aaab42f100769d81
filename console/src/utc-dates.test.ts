import assert from "node:assert/strict";
import { test } from "node:test";
import { listUtcMonths, startOfUtcDay, startOfUtcMonth } from "./utc-dates.ts";

test("starts days and months in UTC, as in the API's sums", () => {
  const now = Date.parse("2026-11-15T23:30:00-05:00");
  assert.equal(startOfUtcDay(now).toISOString(), "2026-11-16T00:00:00.000Z");
  assert.equal(startOfUtcMonth(now).toISOString(), "2026-11-01T00:00:00.000Z");
});

test("counts months back across the end of a year", () => {
  const now = Date.parse("2027-01-31T23:30:00-05:00");
  assert.deepEqual(listUtcMonths(now, 4), ["2027-02", "2027-01", "2026-12", "2026-11"]);
});
