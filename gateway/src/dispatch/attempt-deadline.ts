/**
 * Watches an attempt's deadline by the rules of node-silence.ts. It uses one timer, which is extended by signs of life,
 * instead of a timer per frame. Delays of this gateway never count as a node's silence.
 */
import type { Clock } from "../base/clock.ts";
import { computeSilenceTimeout, type SignsOfLife, TIMER_LATE_MS_MAX } from "./node-silence.ts";

interface WatchOptions {
  clock: Clock;
  jobMsMax: number;
  /** Called when the time has passed. After `late`, the attempt may continue; after any other event, it ends. */
  passed: (event: "quiet" | "late" | "expire" | "cut") => void;
}

/** Watches an attempt and calls `passed` when its time has passed. Returns a function that stops this. */
export function watchAttemptDeadline(heard: SignsOfLife, { clock, jobMsMax, passed }: WatchOptions): () => void {
  let stopped = false;
  let stopTimer = (): void => {};
  /**
   * The start of the silence whose timeout was extended. Each silence is extended only once: a gateway that is always
   * delayed would otherwise never end an attempt.
   */
  let prolonged: number | undefined;
  const left = (): ReturnType<typeof computeSilenceTimeout> =>
    computeSilenceTimeout(heard, clock.monotonic(), jobMsMax);

  const wait = (waitMs: number): void => {
    const dueAt = clock.monotonic() + waitMs;
    stopTimer = clock.after(waitMs, () => {
      const lateMs = clock.monotonic() - dueAt;
      const { leftMs, event } = left();
      const since = event === "late" ? heard.lateAt : heard.aliveAt;
      if (leftMs > 0) wait(leftMs);
      // If this gateway was delayed, frames may still arrive, so the timeout is extended once.
      else if (lateMs > TIMER_LATE_MS_MAX && prolonged !== since) {
        prolonged = since;
        wait(lateMs);
      }
      // Data in the socket arrived in time, so it is read before the decision.
      else clock.soon(lookAgain);
    });
  };
  const lookAgain = (): void => {
    if (stopped) return;
    const { leftMs, event } = left();
    if (leftMs <= 0) {
      passed(event);
      // Only a late attempt may continue to run.
      if (stopped || event !== "late") return;
    }
    wait(left().leftMs);
  };

  wait(left().leftMs);
  return () => {
    stopped = true;
    stopTimer();
  };
}
