/**
 * The timeout of an answer, counted from when its question was written. Delays of this process do not count against the server: data in the
 * socket arrived in time, and the time of one late timer is added.
 */
import type { Clock } from "../base/clock.ts";

/** A timer later than this was delayed by this process, and so were its reads and writes. */
const LATE_MS_MAX = 50;

interface AnswerTime {
  clock: Clock;
  timeoutMs: number;
  /** Part of the question has not been sent. */
  isUnsent: () => boolean;
  passed: () => void;
}

/** Calls `passed` once at the timeout. Returns the function that cancels it. */
export function answerTimeout({ clock, timeoutMs, isUnsent, passed }: AnswerTime): () => void {
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
        // Extended once, or a process that is always late would never time out.
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
