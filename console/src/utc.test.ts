import assert from "node:assert/strict";
import { test } from "node:test";
import { startOfUtcDay, startOfUtcMonth } from "./utc.ts";

test("days and months begin in UTC, as the sums do", () => {
  const now = Date.parse("2026-11-15T23:30:00-05:00");
  assert.equal(startOfUtcDay(now).toISOString(), "2026-11-16T00:00:00.000Z");
  assert.equal(startOfUtcMonth(now).toISOString(), "2026-11-01T00:00:00.000Z");
});
