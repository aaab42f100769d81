/** The fields for how a person wants numbers, dates and times: checked by the same data that formats them. */
import { z } from "zod";

/** Language, script and region only: extensions could ask for other digits or another calendar, which amounts and days do not have. */
const LANGUAGE_TAG = /^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|\d{3}))?$/;
const LOCALE_RULE = "must be a language tag such as en-US or de-DE";
const ZONE_RULE = "must be a time zone such as Europe/Berlin or UTC";

export const LocaleField = z.string(LOCALE_RULE).refine(isLocale, LOCALE_RULE);
export const TimeZoneField = z.string(ZONE_RULE).refine(isTimeZone, ZONE_RULE);

function isLocale(tag: string): boolean {
  return LANGUAGE_TAG.test(tag) && Intl.NumberFormat.supportedLocalesOf(tag).length === 1;
}

/** Offsets are none: they do not follow a place's summer time. */
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
