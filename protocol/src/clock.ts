/** The interface of the clock that gateway and agent use. Tests and the simulator pass in their own clocks. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970, for records and IDs. The time may jump. */
  now(): number;
  /** Milliseconds that never decrease, for durations and deadlines. */
  monotonic(): number;
  /** Runs `task` once after `delayMs`. Returns a function that cancels this. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` every `periodMs` until cancelled. Does not keep the process alive. */
  every(periodMs: number, task: () => void): () => void;
  /** Runs `task` once, after the event loop has processed all pending work, including data in sockets. */
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
