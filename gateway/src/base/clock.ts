/**
 * Time as a thing that is passed in, so that a simulator can own it. Nothing else in the gateway reads the system clock
 * or sets a timer.
 */
export interface Clock {
  /** Wall time in milliseconds since 1970. For records and ids; it may jump. */
  now(): number;
  /** Milliseconds that only grow. For durations and deadlines. */
  monotonic(): number;
  /** Runs `task` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` every `periodMs` until cancelled, for the first time then or a little sooner. Does not keep the process alive. */
  every(periodMs: number, task: () => void): () => void;
  /** Runs `task` once, after what the event loop has at hand: what lies in the sockets is read before. */
  soon(task: () => void): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  every: (periodMs, task) => (periodMs % BEAT_MS === 0 ? onTheBeat(periodMs, task) : interval(periodMs, task)),
  soon(task) {
    setImmediate(task);
  },
};

function interval(periodMs: number, task: () => void): () => void {
  const timer = setInterval(task, periodMs);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * What is done every so many half seconds is done together: a process at rest wakes once for all of it, and not once for each.
 */
const BEAT_MS = 500;
const onTheBeat = openBeat();

function openBeat(): (periodMs: number, task: () => void) => () => void {
  const tasks = new Set<{ everyBeats: number; left: number; task: () => void }>();
  let stop: (() => void) | undefined;
  const beat = (): void => {
    // One of them may begin or end others.
    for (const each of [...tasks]) {
      each.left -= 1;
      if (each.left > 0 || !tasks.has(each)) continue;
      each.left = each.everyBeats;
      each.task();
    }
  };
  return (periodMs, task) => {
    const everyBeats = periodMs / BEAT_MS;
    const each = { everyBeats, left: everyBeats, task };
    tasks.add(each);
    stop ??= interval(BEAT_MS, beat);
    return () => {
      tasks.delete(each);
      if (tasks.size > 0) return;
      stop?.();
      stop = undefined;
    };
  };
}

export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}
