/** Runs a part of a test within one calendar minute or day of the real clock. */
import { eventually } from "./wait.ts";

const PERIOD_MS = { minute: 60_000, day: 24 * 60 * 60 * 1000 };

/**
 * Repeats `observe` until a call began and ended within one calendar minute or day (UTC): limits restart each minute,
 * budgets each day. `observe` must use a new key and assert nothing; its result is checked afterwards. `clocks`: those
 * that must all show the same minute or day, such as the database's and a stage's.
 */
export async function runWithinOneMinuteOrDay<T>(
  period: keyof typeof PERIOD_MS,
  observe: () => Promise<T>,
  clocks: (() => number)[] = [Date.now],
): Promise<T> {
  const now = (): number[] => clocks.map((nowMs) => Math.floor(nowMs() / PERIOD_MS[period]));
  const { seen } = await eventually(`observed within one ${period}`, async () => {
    const begun = now();
    const seen = await observe();
    return new Set([...begun, ...now()]).size === 1 && { seen };
  });
  return seen;
}

/** How long before midnight to wait for the new day; shorter than the limit of `eventually`. */
const BEFORE_MIDNIGHT_MS = 4 * 60 * 1000;

/** Waits for the new day if midnight UTC is near, for suites that check the usage "since midnight UTC". */
export async function waitPastMidnight(): Promise<void> {
  const leftMs = (): number => PERIOD_MS.day - (Date.now() % PERIOD_MS.day);
  await eventually("the day has begun", () => leftMs() > BEFORE_MIDNIGHT_MS);
}
