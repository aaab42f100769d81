/**
 * Watches the clock for one attempt by the rules of silence.ts: one timer that looks again when the node has spoken
 * meanwhile, instead of one per frame. This gateway's own delays are never a node's silence.
 */
import type { Clock } from "../base/clock.ts";
import { type Heard, LATE_MS_MAX, patience } from "./silence.ts";

interface WatchOptions {
  clock: Clock;
  jobMsMax: number;
  /** May leave the attempt as it is when the node is only late to accept. */
  passed: (event: "quiet" | "late" | "expire" | "cut") => void;
}

/** Calls `passed` when the node's time has passed. Returns the way out. */
export function watch(heard: Heard, { clock, jobMsMax, passed }: WatchOptions): () => void {
  let stopped = false;
  let stopTimer = (): void => {};
  /** The silence that was given more time: once, or a gateway that is always late would never end one. */
  let prolonged: number | undefined;
  const left = (): ReturnType<typeof patience> => patience(heard, clock.monotonic(), jobMsMax);

  const wait = (waitMs: number): void => {
    const dueAt = clock.monotonic() + waitMs;
    stopTimer = clock.after(waitMs, () => {
      const lateMs = clock.monotonic() - dueAt;
      const { leftMs, event } = left();
      const since = event === "late" ? heard.lateAt : heard.aliveAt;
      if (leftMs > 0) wait(leftMs);
      // A gateway that was late itself blames no one: what it missed may still be on its way, for as long.
      else if (lateMs > LATE_MS_MAX && prolonged !== since) {
        prolonged = since;
        wait(lateMs);
      }
      // What lies in the socket was said in time.
      else clock.soon(lookAgain);
    });
  };
  const lookAgain = (): void => {
    if (stopped) return;
    const { leftMs, event } = left();
    if (leftMs <= 0) {
      passed(event);
      // Only one that is late may be let be.
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
