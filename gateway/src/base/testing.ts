/** For tests: a clock to turn by hand (`soon` is the event loop's own), one turn of the event loop, and the share that hosts are due. */
import type { Clock } from "./clock.ts";
import { HOST_SHARE_PERCENT, type Pico, pico } from "./money.ts";

/** What the database's `host_share` must come to. */
export const hostShareOf = (charge: bigint): Pico => pico((charge * BigInt(HOST_SHARE_PERCENT)) / 100n);

/**
 * One turn of the event loop: promises that wait for nothing outside this process have settled by then. It does not wait for
 * sockets, workers or files; use `eventually` for those.
 */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export interface ManualClock extends Clock {
  /** Moves time on and runs what falls due, in order. */
  advance(ms: number): void;
  /** Time passes and nothing runs, as for a process that is stopped; then everything that fell due runs, late. */
  freeze(ms: number): void;
}

export function manualClock(startMs = Date.UTC(2030, 0, 1)): ManualClock {
  let nowMs = startMs;
  const tasks = new Set<{ dueMs: number; everyMs: number | undefined; run: () => void }>();
  const schedule = (delayMs: number, everyMs: number | undefined, run: () => void): (() => void) => {
    const task = { dueMs: nowMs + delayMs, everyMs, run };
    tasks.add(task);
    return () => tasks.delete(task);
  };
  const advance = (ms: number): void => {
    const untilMs = nowMs + ms;
    for (;;) {
      const [next] = [...tasks].filter((task) => task.dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs);
      if (next === undefined) break;
      nowMs = Math.max(nowMs, next.dueMs);
      if (next.everyMs === undefined) tasks.delete(next);
      else next.dueMs += next.everyMs;
      next.run();
    }
    nowMs = untilMs;
  };
  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    after: (delayMs, run) => schedule(delayMs, undefined, run),
    every: (periodMs, run) => schedule(periodMs, periodMs, run),
    soon: (task) => void setImmediate(task),
    advance,
    freeze(ms) {
      nowMs += ms;
      advance(0);
    },
  };
}
