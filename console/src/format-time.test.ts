import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDuration, formatShortMoment, formatTimeSince, formatUtcDay, formatUtcMoment } from "./format-time.ts";
import { setLocale } from "./locale.ts";

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

test("shows a short time without the date if it is today, and without the year if it is this year", (t) => {
  t.after(() => setLocale({ locale: "en-US", time_zone: null }));
  setLocale({ locale: "en-US", time_zone: "Europe/Berlin" });
  const short = (text: string): string => formatShortMoment(at(text), Date.parse("2026-11-15T12:00:00Z"));
  assert.equal(short("2026-11-14T23:00:09Z"), "00:00:09");
  assert.equal(short("2026-11-14T22:59:09Z"), "Nov 14, 23:59:09");
  assert.equal(short("2025-12-31T23:00:00Z"), "Jan 1, 00:00:00");
  assert.equal(short("2025-12-31T22:59:59Z"), "Dec 31, 2025, 23:59:59");
});

test("shows durations in a suitable unit", () => {
  assert.deepEqual([0, 840, 1240, 125_000].map(formatDuration), ["0 ms", "840 ms", "1.24 s", "2 min 5 s"]);
});
