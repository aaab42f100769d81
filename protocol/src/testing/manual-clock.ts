/** Test helper: a clock that only moves when the test advances it. `soon` still uses the event loop. */
import type { Clock } from "../clock.ts";

interface Timer {
  dueMs: number;
  task: () => void;
  periodMs: number | undefined;
}

/** Methods do not use `this`, so that a test can pass on or replace a single method. */
export class BaseManualClock implements Clock {
  #nowMs: number;
  readonly #timers = new Set<Timer>();

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  readonly now = (): number => this.#nowMs;
  readonly monotonic = (): number => this.#nowMs;
  readonly after = (delayMs: number, task: () => void): (() => void) => this.#add(delayMs, task, undefined);
  readonly every = (periodMs: number, task: () => void): (() => void) => this.#add(periodMs, task, periodMs);
  readonly soon = (task: () => void): void => void setImmediate(task);

  /** Advances the time and runs due timers in order. */
  readonly advance = (ms: number): void => {
    const untilMs = this.#nowMs + ms;
    for (let timer = this.#next(untilMs); timer !== undefined; timer = this.#next(untilMs)) {
      this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
      if (timer.periodMs === undefined) this.#timers.delete(timer);
      else timer.dueMs += timer.periodMs;
      timer.task();
    }
    this.#nowMs = untilMs;
  };

  /** Simulates a suspended process: time passes without running timers, and then all due timers run late. */
  readonly freeze = (ms: number): void => {
    this.#nowMs += ms;
    this.advance(0);
  };

  /** The milliseconds until the next timer is due. */
  get nextInMs(): number | undefined {
    const next = this.#next(Number.POSITIVE_INFINITY);
    return next === undefined ? undefined : next.dueMs - this.#nowMs;
  }

  #add(delayMs: number, task: () => void, periodMs: number | undefined): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, task, periodMs };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** The next due timer. Of several timers due at the same time, the one that was set first. */
  #next(untilMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers)
      if (timer.dueMs <= untilMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer;
    return next;
  }
}
