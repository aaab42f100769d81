/** The query parameters of lists: pages and periods. */
import { z } from "zod";

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 100;

/** Parses a time: `2026-11-15`, `2026-11-15T06:30:00Z`, or Unix seconds. */
const Moment = z.string().transform((text, context) => {
  const date = /^\d{1,11}$/.test(text) ? new Date(Number(text) * 1000) : isoDate(text);
  // A time before 1970 counts as 1970, where the timestamps in IDs begin.
  if (date !== undefined && !Number.isNaN(date.getTime())) return date.getTime() < 0 ? new Date(0) : date;
  context.addIssue({ code: "custom", message: "must be a time: 2026-11-15, 2026-11-15T06:30:00Z or Unix seconds" });
  return z.NEVER;
});

function isoDate(text: string): Date | undefined {
  // A time of day needs a time zone. Otherwise its meaning would depend on the gateway machine's own zone.
  const form = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text);
  const day = form?.[1];
  if (day === undefined) return undefined;
  // JavaScript would read February 30 as March 2.
  const midnight = new Date(day);
  const exists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
  return exists ? new Date(text) : undefined;
}

/** The query parameters that every list accepts. */
export const PageFields = {
  cursor: z.string().optional(),
  limit: z
    .string()
    .regex(/^\d{1,3}$/, `must be a whole number from 1 to ${LIMIT_MAX}`)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= LIMIT_MAX, `must be a whole number from 1 to ${LIMIT_MAX}`)
    .default(LIMIT_DEFAULT),
};
export const TimeRangeFields = { from: Moment.optional(), to: Moment.optional() };
/**
 * The description of `to` for periods that are named by their length, such as "the 24 hours before yesterday at noon".
 */
export const RANGE_END_DESCRIPTION =
  "End of the range (exclusive): `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. Default: now. The answer's own `from` asks for the period before it.";

/** The query of a list without filters. */
export const PageQuery = z.object(PageFields);
