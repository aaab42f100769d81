/**
 * Formats numbers and dates in the locale that the person chose, or in the browser's. Times use the 24-hour clock.
 * Digits (0–9) and calendar (Gregorian) are those of the API, so that amounts and days are the same in every locale.
 * Words stay English. Times that are not local say UTC.
 */
interface Choice {
  locale: string | null;
  time_zone: string | null;
}

const H24 = { hourCycle: "h23" } as const;
const ALIKE = { numberingSystem: "latn", calendar: "gregory" } as const;

// The default until the page calls `setLocale`, so that tests format the same on every machine.
let language = "en-US";
let timeZone: string | undefined;
/** A cache of formatters, which are costly to create. */
let made = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

/** The browser's locale and time zone, until a person is signed in. */
export const BROWSER_LOCALE: Choice = { locale: null, time_zone: null };

/**
 * Sets the locale and time zone. Values that the browser does not support count as not chosen. Returns whether the
 * format changed.
 */
export function setLocale({ locale, time_zone }: Choice): boolean {
  const next = [knownLocale(locale) ?? navigator.language, knownZone(time_zone)] as const;
  if (next[0] === language && next[1] === timeZone) return false;
  [language, timeZone] = next;
  made = new Map();
  return true;
}

/** A text that changes with the locale or time zone. */
export const formatLocaleKey = (): string => `${language} ${timeZone}`;

function knownLocale(locale: string | null): string | undefined {
  return attempt(() => (locale === null ? undefined : Intl.NumberFormat.supportedLocalesOf(locale)[0]));
}

function knownZone(name: string | null): string | undefined {
  if (name === null) return undefined;
  return attempt(() => new Intl.DateTimeFormat("en", { timeZone: name }) && name);
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function numbers(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const name = JSON.stringify(options);
  const found = made.get(name) ?? new Intl.NumberFormat(language, { ...ALIKE, ...options });
  made.set(name, found);
  return found as Intl.NumberFormat;
}

function dates(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = JSON.stringify(options);
  const found = made.get(name) ?? new Intl.DateTimeFormat(language, { ...ALIKE, ...zoneOption(), ...options });
  made.set(name, found);
  return found as Intl.DateTimeFormat;
}

const zoneOption = (): { timeZone?: string } => (timeZone === undefined ? {} : { timeZone });

/** For example "1,234". */
export const formatWholeNumber = (value: number | bigint): string =>
  numbers({ maximumFractionDigits: 0 }).format(value);
/** At most one decimal, for example "61.3". */
export const decimalText = (value: number): string => numbers({ maximumFractionDigits: 1 }).format(value);
/** A fixed number of decimals, for example "1,234.50". */
export const formatWithDecimals = (value: number, places: number): string =>
  numbers({ minimumFractionDigits: places, maximumFractionDigits: places }).format(value);
/** A share from 0 to 1 as a percentage, for example "0.42 %". */
export const formatPercent = (value: number): string =>
  `${numbers({ maximumFractionDigits: 2 }).format(value * 100)} %`;
/** A percentage with two decimals, so that a column aligns: "4.00 %" below "0.42 %". Zero is "0 %". */
export const formatAlignedPercent = (value: number): string =>
  value === 0 ? "0 %" : `${formatWithDecimals(value * 100, 2)} %`;

/** The sign before the decimals, in shown and typed amounts. */
export type DecimalSign = "." | ",";
export function findLocaleDecimalSign(): DecimalSign {
  const sign = numbers({})
    .formatToParts(1.5)
    .find(({ type }) => type === "decimal")?.value;
  return sign === "," ? "," : ".";
}

/** Turns a formatted number or amount into plain digits with a decimal point: "$1.234,50" → "1234.50". */
export function stripNumberFormat(text: string): string {
  const group =
    numbers({})
      .formatToParts(1_234_567)
      .find(({ type }) => type === "group")?.value ?? "";
  return text.replaceAll(/[$\s]/g, "").replaceAll(group, "").replace(findLocaleDecimalSign(), ".").replace("−", "-");
}

const MEDIUM = { dateStyle: "medium" } as const;
const MONTH_DAY = { month: "short", day: "numeric" } as const;
const UTC = { timeZone: "UTC" } as const;

/** For example "Nov 15, 2026, 06:30:09". */
export const formatDayAndTime = (at: Date | number): string =>
  dates({ ...MEDIUM, timeStyle: "medium", ...H24 }).format(at);
const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", ...H24 } as const;
/** For example "Nov 15, 06:30:09". */
export const formatMonthDayAndTime = (at: Date | number): string => dates({ ...MONTH_DAY, ...CLOCK }).format(at);
/** For example "2026", in the person's time zone. */
export const formatYear = (at: Date | number): string => dates({ year: "numeric" }).format(at);
/** For example "Nov 15, 2026", in the person's time zone. */
export const formatDay = (at: Date | number): string => dates(MEDIUM).format(at);
export const formatUtcDate = (at: Date | number): string => dates({ ...MEDIUM, ...UTC }).format(at);
/** For example "06:30:09". */
export const formatClockTime = (at: Date | number): string => dates({ timeStyle: "medium", ...H24 }).format(at);
/** For example "06:30". */
export const minuteText = (at: Date | number): string => dates({ timeStyle: "short", ...H24 }).format(at);
/** For example "Nov 15", in the person's time zone. */
export const formatMonthDay = (at: Date | number): string => dates(MONTH_DAY).format(at);
export const formatUtcMonthDay = (at: Date | number): string => dates({ ...MONTH_DAY, ...UTC }).format(at);

const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
/** For example "3 minutes ago". */
export const formatTimeAgo = (value: number, unit: "minute" | "hour" | "day"): string => ago.format(value, unit);

/** The name of the time zone in which times are shown. */
const readOwnTimeZone = (): string => dates(MEDIUM).resolvedOptions().timeZone;

/** The time zone with its offset from UTC at that moment: "Europe/Berlin (UTC+01:00)". */
export function makeTimeZoneLabel(at: Date | number): string {
  const name = readOwnTimeZone();
  const minutes = Math.round(zoneOffsetMs(Number(at)) / 60_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const size = Math.abs(minutes);
  const offset = `${minutes < 0 ? "−" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  return name === "UTC" ? name : `${name} (UTC${minutes === 0 ? "" : offset})`;
}

const FIELDS = {
  year: "numeric",
  month: "numeric",
  day: "numeric",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
} as const;

/** The offset of the person's time zone from UTC at that moment, in milliseconds. */
export function zoneOffsetMs(atMs: number): number {
  const name = `parts ${timeZone}`;
  const found = made.get(name) ?? new Intl.DateTimeFormat("en-US", { ...ALIKE, ...FIELDS, ...H24, ...zoneOption() });
  made.set(name, found);
  const parts = (found as Intl.DateTimeFormat).formatToParts(atMs);
  const of = (type: keyof typeof FIELDS): number => Number(parts.find((part) => part.type === type)?.value);
  const local = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return local - Math.floor(atMs / 1000) * 1000;
}

/**
 * Converts a local time, given as if it were UTC, to the moment when local clocks show it. A time in the hour skipped
 * for daylight saving becomes the moment after that hour.
 */
export function convertLocalTime(localMs: number): number {
  const guess = localMs - zoneOffsetMs(localMs);
  const ahead = zoneOffsetMs(guess);
  return localMs - ahead === guess ? guess : Math.max(guess, localMs - ahead);
}

/** The locales that the settings offer, besides the browser's own and the stored one. */
export const LOCALES = [
  ...[
    "en-US",
    "en-GB",
    "en-IN",
    "cs-CZ",
    "da-DK",
    "de-CH",
    "de-DE",
    "es-ES",
    "es-MX",
    "fi-FI",
    "fr-CH",
    "fr-FR",
    "hu-HU",
  ],
  ...[
    "id-ID",
    "it-IT",
    "ja-JP",
    "ko-KR",
    "nb-NO",
    "nl-NL",
    "pl-PL",
    "pt-BR",
    "pt-PT",
    "ro-RO",
    "sv-SE",
    "tr-TR",
    "uk-UA",
  ],
  ...["vi-VN", "zh-CN"],
] as const;

const EXAMPLE_MS = Date.UTC(2026, 10, 15, 12);

/** For example "German (Germany): 15.11.2026, 1.234,5". */
export function makeLocaleLabel(locale: string): string {
  const name = new Intl.DisplayNames("en", { type: "language" }).of(locale) ?? locale;
  const date = new Intl.DateTimeFormat(locale, { ...ALIKE, ...MEDIUM }).format(EXAMPLE_MS);
  return `${name}: ${date}, ${new Intl.NumberFormat(locale, ALIKE).format(1234.5)}`;
}

export const browserLocale = (): string => navigator.language;
export const readBrowserTimeZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;
export const timeZones = (): string[] => [
  "UTC",
  ...Intl.supportedValuesOf("timeZone").filter((name) => name !== "UTC"),
];
