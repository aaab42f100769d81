/**
 * Something that is done when it is due: at once while that is seldom, and when it falls due too often, at a steady pace.
 * What falls due in a pause is done together at its end, so that the last word is always said.
 */
import type { Clock } from "../clock.ts";

interface ThrottleOptions {
  /** How often it may be done in the long run. */
  perSecond: number;
  /** How often at once, after a quiet time. */
  burst: number;
}

export class Throttle {
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
