/** UTC days and months, as in the API's sums. Separate from formatting, because the early script needs only these. */
const DAY_MS = 86_400_000;

export const startOfUtcDay = (nowMs: number): Date => new Date(Math.floor(nowMs / DAY_MS) * DAY_MS);
export const startOfUtcMonth = (nowMs: number): Date => {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
};
export const daysBefore = (date: Date, days: number): Date => new Date(date.getTime() - days * DAY_MS);

/** The UTC month of a time and the months before it, newest first, as the API names them: `2026-11`. */
export function listUtcMonths(nowMs: number, count: number): string[] {
  const now = new Date(nowMs);
  return Array.from({ length: count }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  );
}
