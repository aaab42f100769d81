/** A clock that stands still until a test moves it. `soon` is the event loop's own. */
import type { Clock } from "../clock.ts";

interface Timer {
  due: number;
  task: () => void;
  periodMs: number | undefined;
}

export class ManualClock implements Clock {
  #now = 1_000_000;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, task: () => void): () => void {
    return this.#add({ due: this.#now + delayMs, task, periodMs: undefined });
  }

  every(periodMs: number, task: () => void): () => void {
    return this.#add({ due: this.#now + periodMs, task, periodMs });
  }

  soon(task: () => void): void {
    setImmediate(task);
  }

  /** Milliseconds until the next timer, for tests that ask what is planned. */
  get nextInMs(): number | undefined {
    const next = this.#next(Number.POSITIVE_INFINITY);
    return next === undefined ? undefined : next.due - this.#now;
  }

  /** Moves time on and runs what is due, in order. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (let timer = this.#next(until); timer !== undefined; timer = this.#next(until)) {
      this.#now = Math.max(this.#now, timer.due);
      if (timer.periodMs === undefined) this.#timers.delete(timer);
      else timer.due += timer.periodMs;
      timer.task();
    }
    this.#now = until;
  }

  /** Time passes and nothing runs, as for a process that is stopped. What fell due meanwhile runs late. */
  freeze(ms: number): void {
    this.#now += ms;
  }

  #add(timer: Timer): () => void {
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  #next(until: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (timer.due <= until && timer.due < (next?.due ?? until + 1)) next = timer;
    return next;
  }
}
