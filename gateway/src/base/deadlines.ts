/** The same deadline for many things: one timer for all of them, because nearly all are over long before. */
import type { Clock } from "./clock.ts";

interface Deadlines<T> {
  add(thing: T): void;
  /** It is over; nothing happens to one that is not there. */
  delete(thing: T): void;
}

export function openDeadlines<T>(clock: Clock, afterMs: number, passed: (thing: T) => void): Deadlines<T> {
  /** In the order they were added, and so in that of their deadlines. */
  const due = new Map<T, number>();
  let isArmed = false;
  const arm = (delayMs: number): void => {
    isArmed = true;
    clock.after(delayMs, () => {
      isArmed = false;
      const now = clock.monotonic();
      for (const [thing, dueMs] of due) {
        if (dueMs > now) return arm(dueMs - now);
        due.delete(thing);
        passed(thing);
      }
    });
  };
  return {
    add(thing) {
      due.set(thing, clock.monotonic() + afterMs);
      if (!isArmed) arm(afterMs);
    },
    delete: (thing) => due.delete(thing),
  };
}
