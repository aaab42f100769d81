/**
 * Formats numbers and dates in one way for all readers, whatever the browser's language. Months have names, so that a day cannot be read as
 * a month; hours count to 24. Times other than local ones say UTC.
 */
const LOCALE = "en-US";
const H24 = { hourCycle: "h23" } as const;

const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const some = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });

/** For example "1,234". */
export const countText = (value: number): string => whole.format(value);
/** For example "61.3", where a tenth still matters. */
export const decimalText = (value: number): string => some.format(value);

const share = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 2 });
/** For example "0.42 %", for a share from 0 to 1. */
export const shareText = (value: number): string => `${share.format(value * 100)} %`;
const evenShare = new Intl.NumberFormat(LOCALE, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
/** The same for a column: "4.00 %" below "0.42 %". Zero is "0 %". */
export const evenShareText = (value: number): string => (value === 0 ? "0 %" : `${evenShare.format(value * 100)} %`);

export type DecimalSign = "." | ",";
/** The decimal sign of the reader's own language, which they may type. */
export const ownDecimalSign = (language = navigator.language): DecimalSign =>
  new Intl.NumberFormat(language).format(1.5).includes(",") ? "," : ".";

const moment = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "medium", ...H24 });
const day = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium" });
const clock = new Intl.DateTimeFormat(LOCALE, { timeStyle: "medium", ...H24 });
const minute = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short", ...H24 });
const monthDay = new Intl.DateTimeFormat(LOCALE, { month: "short", day: "numeric" });
const utcMonthDay = new Intl.DateTimeFormat(LOCALE, { month: "short", day: "numeric", timeZone: "UTC" });
const ago = new Intl.RelativeTimeFormat(LOCALE, { numeric: "auto" });

/** For example "Nov 15, 2026, 06:30:09". */
export const momentText = (at: Date | number): string => moment.format(at);
/** For example "Nov 15, 2026". */
export const dayText = (at: Date | number): string => day.format(at);
/** For example "06:30:09". */
export const clockText = (at: Date | number): string => clock.format(at);
/** For example "06:30". */
export const minuteText = (at: Date | number): string => minute.format(at);
/** For example "Nov 15", local or in UTC without saying so. */
export const monthDayText = (at: Date | number): string => monthDay.format(at);
export const utcMonthDayText = (at: Date | number): string => utcMonthDay.format(at);
/** For example "3 minutes ago". */
export const agoText = (value: number, unit: "minute" | "hour" | "day"): string => ago.format(value, unit);

const zone = new Intl.DateTimeFormat(LOCALE, { timeZoneName: "longOffset" });
/** The reader's time zone with its offset from UTC at that moment: "Europe/Berlin (UTC+01:00)". */
export function zoneName(at: Date | number): string {
  const name = zone.resolvedOptions().timeZone;
  const offset = zone.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
  return name === "UTC" ? name : `${name} (${offset.replace("GMT", "UTC")})`;
}
