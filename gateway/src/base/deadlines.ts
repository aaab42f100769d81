/** Many equal deadlines on one timer, because most of them are cancelled long before they pass. */
import type { Clock } from "./clock.ts";

export interface Deadlines<T> {
  add(thing: T): Deadline<T>;
  /** Cancels a deadline. Has no effect after it has passed. */
  delete(due: Deadline<T>): void;
}

/**
 * A pending deadline. `thing` is emptied when the deadline is deleted, because a set can keep deleted entries in memory
 * for long (short-lived-collections.ts).
 */
export interface Deadline<T> {
  thing: T | undefined;
  atMs: number;
}

/** The number of checks per deadline. A deadline fires at most one check interval late. */
const LOOKS = 4;

export function openDeadlines<T>(clock: Clock, afterMs: number, passed: (thing: T) => void): Deadlines<T> {
  /** In insertion order, which is the order of the deadlines. */
  const all = new Set<Deadline<T>>();
  let stop: (() => void) | undefined;
  const look = (): void => {
    const now = clock.monotonic();
    for (const due of all) {
      if (due.atMs > now) return;
      all.delete(due);
      passed(due.thing as T);
    }
    stop?.();
    stop = undefined;
  };
  return {
    add(thing) {
      const due: Deadline<T> = { thing, atMs: clock.monotonic() + afterMs };
      all.add(due);
      // `every` is used because it does not keep the process alive.
      stop ??= clock.every(afterMs / LOOKS, look);
      return due;
    },
    delete(due) {
      all.delete(due);
      due.thing = undefined;
    },
  };
}
