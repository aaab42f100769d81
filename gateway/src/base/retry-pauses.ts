/** Pauses between retries. They end when their owner is closed, so that they do not keep the process alive. */
import type { Clock } from "./clock.ts";

const FIRST_MS = 100;
const LONGEST_MS = 1_000;

export interface RetryPauses {
  /** Waits after `failures` consecutive failures. The pause grows up to one second. */
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
    after: (failures) => of(computeRetryPauseMs(failures)),
    get areOver() {
      return areOver;
    },
    end() {
      areOver = true;
      for (const wake of [...wakers]) wake();
    },
  };
}

/** The pause after a number of failures: 100 ms at first, doubled each time, at most one second. */
export const computeRetryPauseMs = (failures: number): number => Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
