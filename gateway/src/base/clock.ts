/**
 * The gateway's clock: that of protocol/, with periodic tasks on shared beats (beats.ts). Nothing else in the gateway reads the system
 * clock or sets a timer.
 */
import { type Clock as AnyClock, wallClock } from "@tollgate/protocol/clock.ts";
import { BEAT_MS, openBeats } from "./beats.ts";

export type Clock = AnyClock;

/** `every` first runs after its period, or up to two seconds earlier. */
export const systemClock: Clock = {
  ...wallClock,
  every: (periodMs, task) => (periodMs % BEAT_MS === 0 ? onTheBeat(periodMs, task) : wallClock.every(periodMs, task)),
};

/** Timers of the shared beat do not keep the process alive. */
const onTheBeat = openBeats({
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
