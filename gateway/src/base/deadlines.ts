/** The same deadline for many things: one timer for all of them, because nearly all are over long before. */
import type { Clock } from "./clock.ts";

interface Deadlines<T> {
  add(thing: T): Due<T>;
  /** It is over; nothing happens to one whose time has passed. */
  delete(due: Due<T>): void;
}

/** Emptied when it is over, for the reason that passing.ts tells. */
export interface Due<T> {
  thing: T | undefined;
  atMs: number;
}

/** How often it is looked at within the time: what is late by a part of it is early enough. */
const LOOKS = 4;

export function openDeadlines<T>(clock: Clock, afterMs: number, passed: (thing: T) => void): Deadlines<T> {
  /** In the order they were added, and so in that of their deadlines. */
  const all = new Set<Due<T>>();
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
      const due: Due<T> = { thing, atMs: clock.monotonic() + afterMs };
      all.add(due);
      // Not a timer that keeps the process alive: one that stops has no one left who waits.
      stop ??= clock.every(afterMs / LOOKS, look);
      return due;
    },
    delete(due) {
      all.delete(due);
      due.thing = undefined;
    },
  };
}
