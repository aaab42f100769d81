/** Pauses between retries that end when the caller is closed, so that they keep no process alive. */
import type { Clock } from "./clock.ts";

const FIRST_MS = 100;
const LONGEST_MS = 1_000;

export interface RetryPauses {
  /** The pause after `failures` failures, growing up to a second. */
  after(failures: number): Promise<void>;
  of(delayMs: number): Promise<void>;
  readonly areOver: boolean;
  end(): void;
}

export function openRetryPauses(clock: Clock): RetryPauses {
  const wakers = new Set<() => void>();
  let areOver = false;
  const of = (delayMs: number): Promise<void> => {
    if (areOver) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        stop();
        wakers.delete(wake);
        resolve();
      };
      const stop = clock.after(delayMs, wake);
      wakers.add(wake);
    });
  };
  return {
    of,
    after: (failures) => of(growingPauseMs(failures)),
    get areOver() {
      return areOver;
    },
    end() {
      areOver = true;
      for (const wake of [...wakers]) wake();
    },
  };
}

/** 100 ms after the first failure, twice as long after each other, a second at most. */
export const growingPauseMs = (failures: number): number => Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
