/**
 * The fields for a person's language and time zone. They are checked with the same data that formats numbers, dates and
 * times.
 */
import { z } from "zod";

/**
 * Only language, script and region are allowed. Extensions of a language tag could select other digits or another
 * calendar, which amounts and days do not support.
 */
const LANGUAGE_TAG = /^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|\d{3}))?$/;
const LOCALE_RULE = "must be a language tag such as en-US or de-DE";
const ZONE_RULE = "must be a time zone such as Europe/Berlin or UTC";

export const LocaleField = z.string(LOCALE_RULE).refine(isLocale, LOCALE_RULE);
export const TimeZoneField = z.string(ZONE_RULE).refine(isTimeZone, ZONE_RULE);

function isLocale(tag: string): boolean {
  return LANGUAGE_TAG.test(tag) && Intl.NumberFormat.supportedLocalesOf(tag).length === 1;
}

/**
 * Whether this names a time zone. UTC offsets are refused, because they do not follow a place's daylight saving time.
 */
function isTimeZone(name: string): boolean {
  try {
    return (
      /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== ""
    );
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
