import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { formatDollarsForInput, formatExactDollars } from "./dollar-amounts.ts";
import {
  BROWSER_LOCALE,
  convertLocalTime,
  decimalText,
  findLocaleDecimalSign,
  formatAlignedPercent,
  formatClockTime,
  formatDay,
  formatDayAndTime,
  formatLocaleKey,
  formatPercent,
  formatTimeAgo,
  formatUtcDate,
  formatUtcMonthDay,
  formatWholeNumber,
  formatWithDecimals,
  LOCALES,
  makeLocaleLabel,
  makeTimeZoneLabel,
  minuteText,
  setLocale,
  stripNumberFormat,
  timeZones,
  zoneOffsetMs,
} from "./locale.ts";
import { parseDollars } from "./parse-dollars.ts";

const AT = Date.parse("2026-11-05T06:30:09Z");
const as = (locale: string | null, time_zone: string | null): boolean => setLocale({ locale, time_zone });

afterEach(() => void as("en-US", null));

test("formats numbers and dates in the chosen locale", () => {
  as("en-US", "UTC");
  assert.deepEqual(
    [formatWholeNumber(1_234_567), decimalText(61.34), formatWithDecimals(1234.5, 2)],
    ["1,234,567", "61.3", "1,234.50"],
  );
  assert.deepEqual([formatDayAndTime(AT), formatDay(AT)], ["Nov 5, 2026, 06:30:09", "Nov 5, 2026"]);
  assert.deepEqual([formatClockTime(AT), minuteText(AT)], ["06:30:09", "06:30"]);
  assert.equal(formatClockTime(Date.parse("2026-11-05")), "00:00:00");
  as("de-DE", "Europe/Berlin");
  assert.deepEqual(
    [formatWholeNumber(1_234_567), decimalText(61.34), formatWithDecimals(1234.5, 2)],
    ["1.234.567", "61,3", "1.234,50"],
  );
  assert.deepEqual([formatDayAndTime(AT), minuteText(AT)], ["05.11.2026, 07:30:09", "07:30"]);
  assert.equal(findLocaleDecimalSign(), ",");
  as("en-IN", "Asia/Kolkata");
  assert.deepEqual([formatWholeNumber(1_234_567), minuteText(AT)], ["12,34,567", "12:00"]);
});

test("uses Western digits, the Gregorian calendar and UTC days in every locale", () => {
  for (const locale of ["ar-EG", "fa-IR", "th-TH", "my-MM"]) {
    as(locale, "Asia/Tokyo");
    assert.match(
      `${formatWholeNumber(1234)} ${formatUtcDate(Date.parse("2026-11-05"))}`,
      /^[^٠-٩۰-۹๐-๙၀-၉]*2026[^٠-٩۰-۹๐-๙၀-၉]*$/,
      locale,
    );
  }
  as("en-US", "Pacific/Kiritimati");
  assert.deepEqual(
    [formatUtcDate(Date.parse("2026-11-05")), formatUtcMonthDay(Date.parse("2026-11-05"))],
    ["Nov 5, 2026", "Nov 5"],
  );
  assert.equal(formatTimeAgo(-3, "minute"), "3 minutes ago");
});

test("uses the browser's locale if none, or an unknown one, was chosen", () => {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const choice of [
    BROWSER_LOCALE,
    { locale: "xx-XX", time_zone: "Moon/Crater" },
    { locale: "!", time_zone: "!" },
  ]) {
    as("de-DE", "Asia/Tokyo");
    setLocale(choice);
    assert.match(makeTimeZoneLabel(AT), new RegExp(`^${own}`));
    assert.equal(formatWholeNumber(1234), new Intl.NumberFormat(navigator.language).format(1234));
  }
});

test("reports whether a choice of locale or time zone changed the format", () => {
  assert.equal(as("fr-FR", "Europe/Paris"), true);
  const key = formatLocaleKey();
  assert.equal(as("fr-FR", "Europe/Paris"), false);
  assert.equal(as("fr-FR", "Europe/Rome"), true);
  assert.notEqual(formatLocaleKey(), key);
});

test("parses every amount that it has formatted, in every locale", () => {
  for (const locale of LOCALES) {
    as(locale, null);
    fc.assert(
      fc.property(fc.bigInt(0n, 5_000_000n), (cents) => {
        const pico = cents * 10_000_000_000n;
        for (const text of [formatDollarsForInput(pico), formatExactDollars(pico)])
          assert.deepEqual(parseDollars(text), { pico }, text);
        assert.equal(stripNumberFormat(formatExactDollars(pico)).replace(".", ""), String(cents).padStart(3, "0"));
      }),
      { numRuns: 30 },
    );
  }
});

test("converts local times to UTC, including times near daylight-saving changes", () => {
  as("en-US", "Europe/Berlin");
  const momentOf = (text: string): string => new Date(convertLocalTime(Date.parse(`${text}Z`))).toISOString();
  assert.equal(momentOf("2026-07-01T00:00"), "2026-06-30T22:00:00.000Z");
  assert.equal(momentOf("2026-12-01T09:30"), "2026-12-01T08:30:00.000Z");
  assert.equal(momentOf("2026-03-29T02:30"), "2026-03-29T01:30:00.000Z", "clocks skip from 02:00 to 03:00");
  assert.equal(momentOf("2026-03-29T00:00"), "2026-03-28T23:00:00.000Z");
  for (const zone of ["America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe", "UTC"]) {
    as("en-US", zone);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (seconds) => {
        const local = seconds * 1000 + zoneOffsetMs(seconds * 1000);
        const found = convertLocalTime(local);
        assert.equal(found + zoneOffsetMs(found), local, `${zone} ${seconds}`);
      }),
      { numRuns: 50 },
    );
  }
});

test("shows percentages in a column with two decimals, so that their decimal points align", () => {
  assert.deepEqual([formatPercent(0.05), formatPercent(0.0403), formatPercent(0)], ["5 %", "4.03 %", "0 %"]);
  assert.deepEqual(
    [formatAlignedPercent(0.05), formatAlignedPercent(0.0403), formatAlignedPercent(0)],
    ["5.00 %", "4.03 %", "0 %"],
  );
  assert.equal(formatAlignedPercent(0.00001), "0.00 %", "a small share is shown differently from zero");
});

test("labels each locale with a formatted example, and lists time zones by name", () => {
  assert.equal(makeLocaleLabel("de-DE"), "German (Germany): 15.11.2026, 1.234,5");
  assert.equal(new Set(LOCALES.map(makeLocaleLabel)).size, LOCALES.length);
  assert.equal(timeZones()[0], "UTC");
  assert.ok(timeZones().includes("Europe/Berlin"));
});

test("locale.ts is the only file that formats numbers or dates with the browser's locale", () => {
  const root = fileURLToPath(new URL(".", import.meta.url));
  const others = globSync("**/*.{ts,tsx}", { cwd: root }).filter((path) => !/^locale(\.test)?\.ts$/.test(path));
  assert.ok(others.length > 100, "the sources were found");
  const wrong = /\bIntl\.|toLocale\w*\(|\.get(Date|Day|Month|FullYear|Hours|Minutes|TimezoneOffset)\(|toDateString/;
  const found = others.filter((path) => wrong.test(readFileSync(`${root}/${path}`, "utf8")));
  assert.deepEqual(found, []);
});

test("shows a time zone with its offset from UTC", () => {
  as("de-DE", "America/St_Johns");
  assert.equal(makeTimeZoneLabel(AT), "America/St_Johns (UTC−03:30)");
  as("de-DE", "UTC");
  assert.equal(makeTimeZoneLabel(AT), "UTC");
});
