/** The clock as a parameter of gateway and agent, so that tests and the simulator can control it. */
export interface Clock {
  /** Wall time in milliseconds since 1970. For records and ids; it may jump. */
  now(): number;
  /** Milliseconds that only grow. For durations and deadlines. */
  monotonic(): number;
  /** Runs `task` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` every `periodMs` until cancelled. Does not keep the process alive. */
  every(periodMs: number, task: () => void): () => void;
  /** Runs `task` once, after the event loop has processed what is pending, including data in sockets. */
  soon(task: () => void): void;
}

export const wallClock: Clock = {
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
