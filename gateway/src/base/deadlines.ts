/** The same deadline for many things: one timer for all of them, because nearly all are over long before. */
import type { Clock } from "./clock.ts";

interface Deadlines<T> {
  add(thing: T): void;
  /** It is over; nothing happens to one that is not there. */
  delete(thing: T): void;
}

/** How often it is looked at within the time: what is late by a part of it is early enough. */
const LOOKS = 4;

export function openDeadlines<T>(clock: Clock, afterMs: number, passed: (thing: T) => void): Deadlines<T> {
  /** In the order they were added, and so in that of their deadlines. */
  const due = new Map<T, number>();
  let stop: (() => void) | undefined;
  const look = (): void => {
    const now = clock.monotonic();
    for (const [thing, dueMs] of due) {
      if (dueMs > now) return;
      due.delete(thing);
      passed(thing);
    }
    stop?.();
    stop = undefined;
  };
  return {
    add(thing) {
      due.set(thing, clock.monotonic() + afterMs);
      // Not a timer that keeps the process alive: one that stops has nobody left who waits.
      stop ??= clock.every(afterMs / LOOKS, look);
    },
    delete: (thing) => due.delete(thing),
  };
}
