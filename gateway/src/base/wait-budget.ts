/**
 * Bounds the sum of several waits, such as those of a request for its key, its limits and its hold, each of which has a
 * bound of its own. Time between the waits does not count. All budgets share one timer.
 */
import type { Clock } from "./clock.ts";
import { type Deadline, type Deadlines, openDeadlines } from "./deadlines.ts";

export interface WaitBudget {
  /**
   * Waits for `waiting`. Rejects when the budget is used up, then and at every later wait. `undo` gets a result that
   * arrives after that.
   */
  of<T>(waiting: Promise<T> | T, undo?: (late: T) => void | Promise<void>): Promise<T>;
  /** Waits until a cleanup is done or the budget is used up. The cleanup continues in the background. */
  cleanup(waiting: Promise<void>): Promise<void>;
  /** Ends the budget. Later waits are not bounded. */
  end(): void;
}

export interface WaitBudgets {
  begin(): WaitBudget;
}

interface Options {
  clock: Clock;
  maxMs: number;
  /** The error of a wait that the budget ends. */
  tooLong: () => Error;
  /** Called with the error of an `undo`. */
  notUndone?: (error: unknown) => void;
}

/** A budget ends up to a quarter of `maxMs` late. */
export function openWaitBudgets(options: Options): WaitBudgets {
  const deadlines = openDeadlines<SharedTimerBudget>(options.clock, options.maxMs, (budget) => budget.look());
  return { begin: () => new SharedTimerBudget(options, deadlines) };
}

class SharedTimerBudget implements WaitBudget {
  readonly #options: Options;
  /** The budget's entry in the shared list, until that has passed. */
  #due: Deadline<SharedTimerBudget> | undefined;
  readonly #cancel: (due: Deadline<SharedTimerBudget>) => void;
  #leftMs: number;
  /** Ends the current waits, each with an error. */
  readonly #waits = new Set<() => void>();
  /** When the first of the current waits began. */
  #since = 0;
  #stopTimer = (): void => {};
  #isEnded = false;

  constructor(options: Options, deadlines: Deadlines<SharedTimerBudget>) {
    this.#options = options;
    this.#leftMs = options.maxMs;
    this.#cancel = deadlines.delete;
    this.#due = deadlines.add(this);
  }

  of<T>(waiting: Promise<T> | T, undo: (late: T) => void | Promise<void> = () => {}): Promise<T> {
    return this.#race(waiting, (_, reject) => reject(this.#options.tooLong()), undo);
  }

  cleanup(waiting: Promise<void>): Promise<void> {
    return this.#race(waiting, (resolve) => resolve());
  }

  #race<T>(
    waiting: Promise<T> | T,
    whenLate: (resolve: (result: T) => void, reject: (error: Error) => void) => void,
    undo: (late: T) => void | Promise<void> = () => {},
  ): Promise<T> {
    if (this.#isEnded || (!(waiting instanceof Promise) && this.#leftMs > 0)) return Promise.resolve(waiting);
    return new Promise((resolve, reject) => {
      let isLate = false;
      const giveUp = (): void => {
        isLate = true;
        whenLate(resolve, reject);
      };
      if (this.#leftMs <= 0) giveUp();
      else this.#begin(giveUp);
      Promise.resolve(waiting).then(
        (result) => {
          this.#finish(giveUp);
          if (!isLate) return resolve(result);
          Promise.resolve(undo(result)).catch(this.#options.notUndone ?? (() => {}));
        },
        (error) => {
          this.#finish(giveUp);
          reject(error);
        },
      );
    });
  }

  end(): void {
    this.#isEnded = true;
    if (this.#due !== undefined) this.#cancel(this.#due);
    this.#stopTimer();
  }

  /** Called when the whole budget may be used up: `maxMs` after its beginning, or when its own timer ends. */
  look(): void {
    this.#due = undefined;
    if (this.#waits.size === 0 || this.#isEnded) return;
    this.#count();
    if (this.#leftMs > 0) this.#setTimer();
    else {
      for (const giveUp of this.#waits) giveUp();
      this.#waits.clear();
    }
  }

  #begin(giveUp: () => void): void {
    if (this.#waits.size === 0) {
      this.#since = this.#options.clock.monotonic();
      if (this.#due === undefined) this.#setTimer();
    }
    this.#waits.add(giveUp);
  }

  #finish(giveUp: () => void): void {
    if (!this.#waits.delete(giveUp) || this.#waits.size > 0) return;
    this.#count();
    this.#stopTimer();
  }

  #count(): void {
    const now = this.#options.clock.monotonic();
    this.#leftMs -= now - this.#since;
    this.#since = now;
  }

  /** A timer of its own, because time between the waits did not count, and the shared one may have passed. */
  #setTimer(): void {
    this.#stopTimer();
    this.#stopTimer = this.#options.clock.after(this.#leftMs, () => this.look());
  }
}
