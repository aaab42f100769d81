/** How a chart writes its axes. */

const HOUR = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
/** Days are UTC's: so are the sums. */
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const DOLLARS = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumSignificantDigits: 3 });

export const moneyTick = (dollars: number): string => DOLLARS.format(dollars);

/** Of a bucket of sums: `2026-11-15T06:00:00Z`, `2026-11-15`, or the moment itself. */
export const bucketTick = (by: "hour" | "day", bucket: string | number): string =>
  (by === "hour" ? HOUR : DAY).format(new Date(bucket));
