import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  formatBucketTick,
  formatDurationTick,
  formatMoneyTick,
  formatRelativeChange,
  formatTimeZone,
} from "./tick-labels.ts";
import { makeTimeTicks, valueTicks } from "./ticks.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const hours = (from: string, length: number): number[] => Array.from({ length }, (_, i) => Date.parse(from) + i * HOUR);
const marks = (texts: string[]): string[] => texts.filter((text) => text !== "");

test("uses one unit for all labels of a duration axis", () => {
  const marksTo = (most: number): string[] => {
    const ticks = valueTicks(most);
    return ticks.map((tick) => formatDurationTick(tick, ticks[1]));
  };
  assert.deepEqual(marksTo(800), ["0 ms", "200 ms", "400 ms", "600 ms", "800 ms"]);
  assert.deepEqual(marksTo(900), ["0 s", "0.5 s", "1 s"]);
  assert.deepEqual(marksTo(3_700), ["0 s", "1 s", "2 s", "3 s", "4 s"]);
  assert.equal(formatDurationTick(1_240), "1.24 s", "a single value has all its digits");
});

test("places axis ticks at steps of 1, 2 or 5 times a power of ten", () => {
  assert.deepEqual(valueTicks(0.37), [0, 0.1, 0.2, 0.3, 0.4]);
  assert.deepEqual(valueTicks(7), [0, 2, 4, 6, 8]);
  assert.deepEqual(valueTicks(20), [0, 5, 10, 15, 20]);
  assert.deepEqual(valueTicks(0.0000031), [0, 0.000001, 0.000002, 0.000003, 0.000004]);
  assert.deepEqual(valueTicks(2, { whole: true }), [0, 1, 2]);
  assert.deepEqual(valueTicks(0), [0, 1]);
});

test("returns two to six ticks from zero to the largest value, at any scale", () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-11, max: 1e12, noNaN: true }), fc.boolean(), (most, whole) => {
      const ticks = valueTicks(most, { whole });
      const step = ticks[1] ?? 0;
      assert.ok(ticks[0] === 0 && ticks.length >= 2 && ticks.length <= 6, String(ticks));
      assert.ok((ticks.at(-1) ?? 0) >= most * (1 - 1e-6), `${ticks} for ${most}`);
      assert.match(step.toExponential(), /^[125]e/);
    }),
  );
});

test("labels money ticks with as many decimals as the step between ticks needs", () => {
  assert.deepEqual(
    valueTicks(0.37).map((value, _, ticks) => formatMoneyTick(value, ticks[1])),
    ["$0.00", "$0.10", "$0.20", "$0.30", "$0.40"],
  );
  assert.deepEqual([formatMoneyTick(0, 500), formatMoneyTick(1500, 500)], ["$0", "$1,500"]);
  assert.equal(formatMoneyTick(0.000002, 0.000002), "$0.000002");
  assert.equal(formatMoneyTick(0.000002), "$0.000002");
});

test("labels round hours of a day, and midnight with its date", () => {
  const texts = makeTimeTicks(hours("2026-11-14T07:00:00Z", 24), 8, () => 0);
  assert.equal(texts.length, 24);
  assert.equal(marks(texts).length, 8);
  assert.equal(
    texts.findIndex((text) => text !== ""),
    2,
    "09:00 is round, 07:00 and 08:00 are not",
  );
  // In a time zone with an offset of half an hour, no hourly bucket begins on the local hour, but some still get
  // labels.
  assert.ok(marks(makeTimeTicks(hours("2026-11-14T07:00:00Z", 24), 8, () => HOUR / 2)).length > 2);
});

test("labels each date once if no bucket begins at midnight in the reader's time zone", () => {
  for (const [bucketHours, days] of [
    [3, 7],
    [6, 30],
    [6, 3],
  ] as const) {
    const moments = Array.from(
      { length: (days * 24) / bucketHours },
      (_, i) => Date.parse("2026-11-04T00:00:00Z") + i * bucketHours * HOUR,
    );
    const texts = marks(makeTimeTicks(moments, 11, () => HOUR));
    assert.ok(texts.length > 1 && texts.length <= 11, texts.join(", "));
    const dates = texts.filter((text) => /^[A-Z]/.test(text));
    assert.ok(dates.length > 1, texts.join(", "));
    assert.deepEqual(dates, [...new Set(dates)]);
  }
});

test("labels UTC days, counted back from today", () => {
  const month = Array.from({ length: 30 }, (_, i) => Date.parse("2026-10-17T00:00:00Z") + i * DAY);
  const texts = makeTimeTicks(month, 8);
  assert.equal(texts.at(-1), "Nov 15");
  assert.deepEqual(marks(texts), ["Oct 21", "Oct 26", "Oct 31", "Nov 5", "Nov 10", "Nov 15"]);
  assert.deepEqual(marks(makeTimeTicks(month.slice(-7), 8)).length, 7);
});

test("labels as many samples as fit (five of 40) if they are less than a second apart", () => {
  const samples = Array.from({ length: 40 }, (_, i) => 1_794_000_001_000 + i * 777);
  assert.equal(marks(makeTimeTicks(samples, 5)).length, 5);
});

test("labels days by date if hours do not fit", () => {
  const week = marks(makeTimeTicks(hours("2026-11-09T10:00:00Z", 168), 2, () => 0));
  assert.ok(week.length > 1 && week.every((text) => /^Nov \d+$/.test(text)), week.join(", "));
});

test("labels an hour bucket with its local date and time, and a day bucket with its date and UTC", () => {
  assert.equal(formatBucketTick("day", "2026-11-15"), "Nov 15 UTC");
  assert.match(formatBucketTick("hour", "2026-11-15T06:00:00Z"), /^Nov 1\d, \d\d:\d\d$/);
});

test("shows an amount below a cent with three significant digits, and a relative change with its sign", () => {
  assert.deepEqual(
    [0, 0.0123456, 0.1, 12.3456, 1500].map((dollars) => formatMoneyTick(dollars)),
    ["$0.00", "$0.0123", "$0.10", "$12.35", "$1,500.00"],
  );
  assert.deepEqual([0.0471, -0.12, 12.3].map(formatRelativeChange), ["+4.7 %", "−12 %", "+1,230 %"]);
});

test("labels a time axis with its time zone, for hours and for days", () => {
  const day = Date.parse("2026-11-15");
  assert.equal(formatTimeZone([day, day + 86_400_000]), "Days in UTC");
  assert.match(formatTimeZone([day, day + 3_600_000]), /^Times in ./);
});
