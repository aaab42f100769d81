/**
 * A clock on which no timeout ever fires, for tests that do not test timeouts. A slow test machine cannot make them
 * fail.
 */
import { type Clock, wallClock } from "../clock.ts";

/** Timers shorter than this are pauses between tries, so they do fire. */
const DEADLINE_MS_MIN = 1_000;

/**
 * Timers of a second or more never fire, periodic tasks never run, and monotonic time stands still, so caches do not
 * expire.
 */
export const timeoutFreeClock: Clock = {
  ...wallClock,
  monotonic: () => 0,
  after: (delayMs, run) => (delayMs < DEADLINE_MS_MIN ? wallClock.after(delayMs, run) : () => {}),
  every: () => () => {},
};
