/**
 * The gateway's clock: the clock of protocol/, except that periodic tasks share a timer (shared-timer.ts). No other
 * file of the gateway reads the system clock or sets a timer.
 */
import { type Clock as AnyClock, wallClock } from "@tollgate/protocol/clock.ts";
import { openSharedTimer, SHARED_TIMER_BEAT_MS } from "./shared-timer.ts";

export type Clock = AnyClock;

/**
 * The first run of `every` comes after its period or up to two seconds earlier, to share a wake-up with other tasks.
 */
export const systemClock: Clock = {
  ...wallClock,
  every: (periodMs, task) =>
    periodMs % SHARED_TIMER_BEAT_MS === 0 ? onTheBeat(periodMs, task) : wallClock.every(periodMs, task),
};

/** The shared timer does not keep the process alive. */
const onTheBeat = openSharedTimer({
  monotonic: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
});

export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}
