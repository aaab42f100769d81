/** Formats times for the API, and computes the starts of days and months in UTC. */

export const MINUTE_MS = 60 * 1000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Unix time in whole seconds. */
export const toUnixSeconds = (date: Date): number => Math.floor(date.getTime() / 1000);

export const startOfDay = (now: number): Date => new Date(Math.floor(now / DAY_MS) * DAY_MS);

export function startOfMonth(now: number): Date {
  const date = new Date(now);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1));
}
