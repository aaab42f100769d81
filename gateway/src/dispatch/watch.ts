/**
 * Watches the deadline of one attempt by the rules of silence.ts. It uses one timer that checks again after signs of life, instead of one
 * per frame. Delays of this gateway itself never count as a node's silence.
 */
import type { Clock } from "../base/clock.ts";
import { LATE_MS_MAX, type SignsOfLife, silenceTimeout } from "./silence.ts";

interface WatchOptions {
  clock: Clock;
  jobMsMax: number;
  /** May leave the attempt as it is when the node is only late to accept. */
  passed: (event: "quiet" | "late" | "expire" | "cut") => void;
}

/** Calls `passed` when the node's time has passed. Returns the way out. */
export function watch(heard: SignsOfLife, { clock, jobMsMax, passed }: WatchOptions): () => void {
  let stopped = false;
  let stopTimer = (): void => {};
  /** The silence that was extended. Extended once only, or a gateway that is always late would never end one. */
  let prolonged: number | undefined;
  const left = (): ReturnType<typeof silenceTimeout> => silenceTimeout(heard, clock.monotonic(), jobMsMax);

  const wait = (waitMs: number): void => {
    const dueAt = clock.monotonic() + waitMs;
    stopTimer = clock.after(waitMs, () => {
      const lateMs = clock.monotonic() - dueAt;
      const { leftMs, event } = left();
      const since = event === "late" ? heard.lateAt : heard.aliveAt;
      if (leftMs > 0) wait(leftMs);
      // If this gateway was late itself, messages may still be on their way, so it extends the wait once.
      else if (lateMs > LATE_MS_MAX && prolonged !== since) {
        prolonged = since;
        wait(lateMs);
      }
      // Data in the socket arrived in time, so read it before deciding.
      else clock.soon(lookAgain);
    });
  };
  const lookAgain = (): void => {
    if (stopped) return;
    const { leftMs, event } = left();
    if (leftMs <= 0) {
      passed(event);
      // Only a late node may be left running.
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
