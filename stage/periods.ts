/** Calendar minutes and days: how a test on a clock that runs stays within one. */
import { eventually } from "./wait.ts";

const PERIOD_MS = { minute: 60_000, day: 24 * 60 * 60 * 1000 };

/**
 * Limits start anew with each calendar minute, budgets with each day (UTC). Returns what was observed within one of them: where the
 * next one began meanwhile, it is observed again. `observe` uses a new key and asserts nothing; its result is judged afterwards.
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

/** Less than `eventually` waits. */
const BEFORE_MIDNIGHT_MS = 4 * 60 * 1000;

/** For suites that look at what happened "since midnight UTC": one that begins just before it waits for the new day. */
export async function clearOfMidnight(): Promise<void> {
  const leftMs = (): number => PERIOD_MS.day - (Date.now() % PERIOD_MS.day);
  await eventually("the day has begun", () => leftMs() > BEFORE_MIDNIGHT_MS);
}
