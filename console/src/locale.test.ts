import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  agoText,
  clockText,
  countText,
  dayText,
  decimalText,
  evenShareText,
  minuteText,
  momentText,
  shareText,
  utcMonthDayText,
  zoneName,
} from "./locale.ts";

const AT = new Date(2026, 10, 5, 6, 30, 9);

test("formats numbers and dates the same for every reader", () => {
  assert.deepEqual([countText(1_234_567), decimalText(61.34), decimalText(1234)], ["1,234,567", "61.3", "1,234"]);
  assert.equal(momentText(AT), "Nov 5, 2026, 06:30:09");
  assert.equal(dayText(AT), "Nov 5, 2026");
  assert.deepEqual([clockText(AT), minuteText(AT)], ["06:30:09", "06:30"]);
  assert.equal(clockText(new Date(2026, 10, 5)), "00:00:00");
  assert.equal(utcMonthDayText(Date.parse("2026-11-05T00:00:00Z")), "Nov 5");
  assert.equal(agoText(-3, "minute"), "3 minutes ago");
});

test("aligns the decimal points of shares in a column, and shows a dash for none", () => {
  assert.deepEqual([shareText(0.05), shareText(0.0403), shareText(0)], ["5 %", "4.03 %", "0 %"]);
  assert.deepEqual([evenShareText(0.05), evenShareText(0.0403), evenShareText(0)], ["5.00 %", "4.03 %", "0 %"]);
  assert.equal(evenShareText(0.00001), "0.00 %", "a little is told apart from nothing");
});

test("no other file formats numbers or dates with the browser's locale", () => {
  const root = fileURLToPath(new URL(".", import.meta.url));
  const others = globSync("**/*.{ts,tsx}", { cwd: root }).filter((path) => !/^locale(\.test)?\.ts$/.test(path));
  assert.ok(others.length > 100, "the sources were found");
  const found = others.filter((path) => /\bIntl\.|toLocale\w*\(/.test(readFileSync(`${root}/${path}`, "utf8")));
  assert.deepEqual(found, []);
});

test("shows a time zone with its offset from UTC", () => {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  assert.match(zoneName(AT), own === "UTC" ? /^UTC$/ : new RegExp(`^${own} \\(UTC([+−-]\\d\\d:\\d\\d)?\\)$`));
});
