/**
 * Time as a thing that is passed in, so that a simulator can own it. Nothing else in the gateway reads the system clock
 * or sets a timer.
 */
import { BEAT_MS, openBeats } from "./beats.ts";

export interface Clock {
  /** Wall time in milliseconds since 1970. For records and ids; it may jump. */
  now(): number;
  /** Milliseconds that only grow. For durations and deadlines. */
  monotonic(): number;
  /** Runs `task` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /**
   * Runs `task` every `periodMs` until cancelled, for the first time then or up to two seconds sooner. Does not keep the process
   * alive.
   */
  every(periodMs: number, task: () => void): () => void;
  /** Runs `task` once, after what the event loop has at hand: what lies in the sockets is read before. */
  soon(task: () => void): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  every: (periodMs, task) => (periodMs % BEAT_MS === 0 ? onTheBeat(periodMs, task) : interval(periodMs, task)),
  soon(task) {
    setImmediate(task);
  },
};

/** Its timers do not keep the process alive. */
const onTheBeat = openBeats({
  monotonic: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
});

function interval(periodMs: number, task: () => void): () => void {
  const timer = setInterval(task, periodMs);
  timer.unref();
  return () => clearInterval(timer);
}

export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}
