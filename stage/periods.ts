/** Keeps a test with a real clock within one calendar minute or day. */
import { eventually } from "./wait.ts";

const PERIOD_MS = { minute: 60_000, day: 24 * 60 * 60 * 1000 };

/**
 * Limits restart with each calendar minute, budgets with each day (UTC). Repeats `observe` until it ran within one such
 * period. `observe` uses a new key and asserts nothing; its result is judged afterwards.
 */
export async function inOne<T>(
  period: keyof typeof PERIOD_MS,
  observe: () => Promise<T>,
  nowMs: () => number = Date.now,
): Promise<T> {
  const now = (): number => Math.floor(nowMs() / PERIOD_MS[period]);
  const { seen } = await eventually(`observed within one ${period}`, async () => {
    const begun = now();
    const seen = await observe();
    return now() === begun && { seen };
  });
  return seen;
}

/** Shorter than the limit of `eventually`. */
const BEFORE_MIDNIGHT_MS = 4 * 60 * 1000;

/** For suites that check what happened "since midnight UTC": shortly before midnight, waits for the new day. */
export async function clearOfMidnight(): Promise<void> {
  const leftMs = (): number => PERIOD_MS.day - (Date.now() % PERIOD_MS.day);
  await eventually("the day has begun", () => leftMs() > BEFORE_MIDNIGHT_MS);
}
