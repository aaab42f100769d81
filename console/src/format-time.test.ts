import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDuration, formatTimeSince, formatUtcDay, formatUtcMoment } from "./format-time.ts";

const at = (text: string): number => Date.parse(text) / 1000;

test("marks UTC times as UTC", () => {
  assert.equal(formatUtcMoment(at("2026-11-15T06:30:09Z")), "2026-11-15 06:30:09 UTC");
});

test("shows the same date for a UTC day in every time zone", () => {
  assert.equal(formatUtcDay("2026-11-15"), "Nov 15, 2026");
});

test("shows past times in a suitable unit", () => {
  const now = Date.parse("2026-11-15T12:00:00Z");
  assert.equal(formatTimeSince(at("2026-11-15T11:59:30Z"), now), "just now");
  assert.match(formatTimeSince(at("2026-11-15T11:57:00Z"), now), /3/);
  assert.match(formatTimeSince(at("2026-11-15T07:00:00Z"), now), /5/);
  assert.match(formatTimeSince(at("2025-01-01T00:00:00Z"), now), /2025|2024/);
});

test("shows durations in a suitable unit", () => {
  assert.deepEqual([0, 840, 1240, 125_000].map(formatDuration), ["0 ms", "840 ms", "1.24 s", "2 min 5 s"]);
});
