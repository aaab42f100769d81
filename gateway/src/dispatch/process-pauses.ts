/**
 * Whether this process itself was paused recently: frozen or without CPU time for seconds. Messages of that time arrive late or are
 * missing, and say nothing about the nodes.
 */
import type { Clock } from "../base/clock.ts";

const TICK_MS = 1_000;
/** A tick that comes later than this finds that the process was stopped. */
const STOPPED_MS = 3_000;
/** What was said meanwhile is read, and what was lost is missed, within this time. */
const THAWING_MS = 10_000;

export class ProcessPauses {
  readonly close: () => void;
  readonly #clock: Clock;
  #tickedAt: number;
  #stoppedMs = 0;
  #thawedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#tickedAt = clock.monotonic();
    this.close = clock.every(TICK_MS, () => this.#tick());
  }

  get wasStopped(): boolean {
    return this.stoppedMs > 0;
  }

  /** For how long; 0 when it was not, or some time ago. Asked at any moment: what lies in a socket is read before timers run. */
  get stoppedMs(): number {
    return this.#tick() - this.#thawedAt < THAWING_MS ? this.#stoppedMs : 0;
  }

  #tick(): number {
    const now = this.#clock.monotonic();
    const sinceMs = now - this.#tickedAt;
    this.#tickedAt = now;
    if (sinceMs > STOPPED_MS) [this.#stoppedMs, this.#thawedAt] = [sinceMs, now];
    return now;
  }
}
