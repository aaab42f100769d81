/** Days and times as flags give them. The platform's days are UTC's. */
import type { Wrong } from "./given.ts";

const DAY_S = 86_400;

/** Unix seconds. A day means its beginning, or, for the end of a period, the beginning of the next. */
export function dayOf(flag: string, text: string | undefined, edge: "begin" | "end", wrong: Wrong): number | undefined {
  if (text === undefined) return undefined;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text);
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const at = isDay || isTime ? Date.parse(text) : Number.NaN;
  // JavaScript takes the 31st of a short month for a day of the next.
  const exists = !Number.isNaN(at) && (!isDay || new Date(at).toISOString().startsWith(text));
  if (!exists) return wrong(`--${flag} is a day like 2026-11-01 or a time like 2026-11-01T12:00:00Z`);
  return Math.floor(at / 1000) + (isDay && edge === "end" ? DAY_S : 0);
}
