/**
 * How long an answer may take, from when its question was written. This process' own delays are never the server's: what
 * lies in the socket came in time, and the time that a late timer took from the answer is given back, once.
 */
import type { Clock } from "../base/clock.ts";

/** A timer that runs later than this was kept waiting by this process, and so was what it should have read and sent. */
const LATE_MS_MAX = 50;

interface AnswerTime {
  clock: Clock;
  timeoutMs: number;
  /** Part of what was asked has not left this process. */
  isUnsent: () => boolean;
  passed: () => void;
}

/** Calls `passed` once, when the time has passed. Returns the way out. */
export function answerTime({ clock, timeoutMs, isUnsent, passed }: AnswerTime): () => void {
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
        // Once, or a process that is always late would never give up.
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
