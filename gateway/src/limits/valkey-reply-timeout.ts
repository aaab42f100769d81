/**
 * A timeout for an answer, counted from when its question was written. Delays of this process do not count against the
 * server: data that waits in the socket arrived in time, and the timeout is extended once by the delay of a late timer.
 */
import type { Clock } from "../base/clock.ts";

/** A timer that is later than this, in ms, was delayed by this process. So were the process's reads and writes. */
const LATE_MS_MAX = 50;

interface ReplyTimeoutOptions {
  clock: Clock;
  timeoutMs: number;
  /** Whether part of the question has not been sent. */
  isUnsent: () => boolean;
  passed: () => void;
}

/** Calls `passed` once at the timeout. Returns a function that cancels it. */
export function startReplyTimeout({ clock, timeoutMs, isUnsent, passed }: ReplyTimeoutOptions): () => void {
  let stopped = false;
  let prolonged = false;
  let stopTimer = (): void => {};
  const wait = (waitMs: number): void => {
    const dueAt = clock.monotonic() + waitMs;
    stopTimer = clock.after(waitMs, () => {
      const lateMs = clock.monotonic() - dueAt;
      const lostMs = isUnsent() ? timeoutMs : lateMs > LATE_MS_MAX ? Math.min(lateMs, timeoutMs) : 0;
      clock.soon(() => {
        if (stopped) return;
        // Extended only once. Otherwise a process that is always late would never time out.
        if (prolonged || lostMs === 0) return passed();
        prolonged = true;
        wait(lostMs);
      });
    });
  };
  wait(timeoutMs);
  return () => {
    stopped = true;
    stopTimer();
  };
}
