/**
 * Limits how often a function runs: at once while calls are rare, and at a steady rate while they are frequent. Calls during a wait are
 * combined into one at its end, so the latest state is always reported.
 */
import type { Clock } from "../clock.ts";

interface ThrottleOptions {
  /** The long-term limit of runs per second. */
  perSecond: number;
  /** The number of immediate runs after a quiet period. */
  burst: number;
}

export class StateReportThrottle {
  readonly #clock: Clock;
  readonly #options: ThrottleOptions;
  readonly #act: () => void;
  #allowance: number;
  #countedAt: number;
  #cancelPause: (() => void) | undefined;

  constructor(clock: Clock, options: ThrottleOptions, act: () => void) {
    this.#clock = clock;
    this.#options = options;
    this.#act = act;
    this.#allowance = options.burst;
    this.#countedAt = clock.monotonic();
  }

  due(): void {
    if (this.#cancelPause !== undefined) return;
    const { perSecond, burst } = this.#options;
    const now = this.#clock.monotonic();
    this.#allowance = Math.min(burst, this.#allowance + ((now - this.#countedAt) * perSecond) / 1000);
    this.#countedAt = now;
    if (this.#allowance >= 1) {
      this.#allowance -= 1;
      this.#act();
      return;
    }
    this.#cancelPause = this.#clock.after(Math.ceil(((1 - this.#allowance) * 1000) / perSecond), () => {
      this.#cancelPause = undefined;
      this.due();
    });
  }

  /** Cancels waiting calls. */
  stop(): void {
    this.#cancelPause?.();
    this.#cancelPause = undefined;
  }
}
