/**
 * Formats numbers and dates as the person chose in the settings, or as their browser does. Hours count to 24; digits and the calendar are
 * the API's, so that amounts and days are the same in every language. Words around them stay English. Times other than local ones say UTC.
 */
interface Choice {
  locale: string | null;
  time_zone: string | null;
}

const H24 = { hourCycle: "h23" } as const;
const ALIKE = { numberingSystem: "latn", calendar: "gregory" } as const;

// Until `writeAs`, which the page calls first: tests are the same on every machine.
let language = "en-US";
let timeZone: string | undefined;
/** Formatters are costly to make and are made when they are first needed. */
let made = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

/** As long as nobody is known to be here. */
export const AS_BROWSER: Choice = { locale: null, time_zone: null };

/** What this browser does not know is as if nothing were chosen. Returns whether anything is written differently from now on. */
export function writeAs({ locale, time_zone }: Choice): boolean {
  const next = [knownLocale(locale) ?? navigator.language, knownZone(time_zone)] as const;
  if (next[0] === language && next[1] === timeZone) return false;
  [language, timeZone] = next;
  made = new Map();
  return true;
}

/** What stands for how things are written now. */
export const writingKey = (): string => `${language} ${timeZone}`;

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

/** "1,234". */
export const countText = (value: number | bigint): string => numbers({ maximumFractionDigits: 0 }).format(value);
/** For example "61.3", where a tenth still matters. */
export const decimalText = (value: number): string => numbers({ maximumFractionDigits: 1 }).format(value);
/** "1,234.50", with so many places. */
export const fixedText = (value: number, places: number): string =>
  numbers({ minimumFractionDigits: places, maximumFractionDigits: places }).format(value);
/** For example "0.42 %", for a share from 0 to 1. */
export const shareText = (value: number): string => `${numbers({ maximumFractionDigits: 2 }).format(value * 100)} %`;
/** The same for a column: "4.00 %" below "0.42 %". Zero is "0 %". */
export const evenShareText = (value: number): string => (value === 0 ? "0 %" : `${fixedText(value * 100, 2)} %`);

/** What stands before the cents: also in what people type. */
export type DecimalSign = "." | ",";
export function ownDecimalSign(): DecimalSign {
  const sign = numbers({})
    .formatToParts(1.5)
    .find(({ type }) => type === "decimal")?.value;
  return sign === "," ? "," : ".";
}

/** A number or amount as it is written here, with a decimal point and nothing else: "$1.234,50" → "1234.50". */
export function plainNumber(text: string): string {
  const group =
    numbers({})
      .formatToParts(1_234_567)
      .find(({ type }) => type === "group")?.value ?? "";
  return text.replaceAll(/[$\s]/g, "").replaceAll(group, "").replace(ownDecimalSign(), ".").replace("−", "-");
}

const MEDIUM = { dateStyle: "medium" } as const;
const MONTH_DAY = { month: "short", day: "numeric" } as const;
const UTC = { timeZone: "UTC" } as const;

/** For example "Nov 15, 2026, 06:30:09". */
export const momentText = (at: Date | number): string => dates({ ...MEDIUM, timeStyle: "medium", ...H24 }).format(at);
/** "Nov 15, 2026", here or of a day in UTC, which does not say so itself. */
export const dayText = (at: Date | number): string => dates(MEDIUM).format(at);
export const utcDayText = (at: Date | number): string => dates({ ...MEDIUM, ...UTC }).format(at);
/** For example "06:30:09". */
export const clockText = (at: Date | number): string => dates({ timeStyle: "medium", ...H24 }).format(at);
/** "06:30". */
export const minuteText = (at: Date | number): string => dates({ timeStyle: "short", ...H24 }).format(at);
/** "Nov 15", here or of a day in UTC. */
export const monthDayText = (at: Date | number): string => dates(MONTH_DAY).format(at);
export const utcMonthDayText = (at: Date | number): string => dates({ ...MONTH_DAY, ...UTC }).format(at);

const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
/** For example "3 minutes ago". */
export const agoText = (value: number, unit: "minute" | "hour" | "day"): string => ago.format(value, unit);

/** The name of the time zone that times are in. */
export const ownZone = (): string => dates(MEDIUM).resolvedOptions().timeZone;

/** The time zone with how far it is from UTC at that moment: "Europe/Berlin (UTC+01:00)". */
export function zoneName(at: Date | number): string {
  const name = ownZone();
  const minutes = Math.round(zoneAheadMs(Number(at)) / 60_000);
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

/** How far the clock of the time zone is ahead of UTC at that moment. */
export function zoneAheadMs(atMs: number): number {
  const name = `parts ${timeZone}`;
  const found = made.get(name) ?? new Intl.DateTimeFormat("en-US", { ...ALIKE, ...FIELDS, ...H24, ...zoneOption() });
  made.set(name, found);
  const parts = (found as Intl.DateTimeFormat).formatToParts(atMs);
  const of = (type: keyof typeof FIELDS): number => Number(parts.find((part) => part.type === type)?.value);
  const local = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return local - Math.floor(atMs / 1000) * 1000;
}

/** The moment when clocks of the time zone show this, given as if it were UTC. In the hour that clocks skip, the moment after it. */
export function momentOfZone(localMs: number): number {
  const guess = localMs - zoneAheadMs(localMs);
  const ahead = zoneAheadMs(guess);
  return localMs - ahead === guess ? guess : Math.max(guess, localMs - ahead);
}

/** What a person can choose from, each with an example; those that they have besides come first. */
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

/** "German (Germany): 15.11.2026, 1.234,5". */
export function localeLabel(locale: string): string {
  const name = new Intl.DisplayNames("en", { type: "language" }).of(locale) ?? locale;
  const date = new Intl.DateTimeFormat(locale, { ...ALIKE, ...MEDIUM }).format(EXAMPLE_MS);
  return `${name}: ${date}, ${new Intl.NumberFormat(locale, ALIKE).format(1234.5)}`;
}

export const browserLocale = (): string => navigator.language;
export const browserZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;
export const timeZones = (): string[] => [
  "UTC",
  ...Intl.supportedValuesOf("timeZone").filter((name) => name !== "UTC"),
];
