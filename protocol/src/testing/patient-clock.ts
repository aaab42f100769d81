/** The machine's time without deadlines, for tests of whatever does not end by a timeout: a slow machine lets none of them pass. */
import { type Clock, wallClock } from "../clock.ts";

/** Shorter timers are pauses between tries, which have to end. */
const DEADLINE_MS_MIN = 1_000;

/** Timeouts of a second or more never fire, nothing is repeated, no time passes for caches. */
export const patientClock: Clock = {
  ...wallClock,
  monotonic: () => 0,
  after: (delayMs, run) => (delayMs < DEADLINE_MS_MIN ? wallClock.after(delayMs, run) : () => {}),
  every: () => () => {},
};
