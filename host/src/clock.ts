/** Time as a thing that is passed in, so that tests and the simulator can own it. */
export interface Clock {
  /** Wall time in milliseconds since 1970. */
  now(): number;
  /** Milliseconds that only grow. */
  monotonic(): number;
  /** Runs `task` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` every `periodMs` until cancelled. Does not keep the process alive. */
  every(periodMs: number, task: () => void): () => void;
  /** Runs `task` once, after what the event loop has at hand. */
  soon(task: () => void): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  every(periodMs, task) {
    const timer = setInterval(task, periodMs);
    timer.unref();
    return () => clearInterval(timer);
  },
  soon(task) {
    setImmediate(task);
  },
};

/** Resolves after `delayMs`, or at once when `signal` aborts. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = (): void => {
      cancel();
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const cancel = clock.after(delayMs, wake);
    signal.addEventListener("abort", wake);
  });
}

/** Lets the event loop turn once. */
export function turn(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.soon(resolve));
}
