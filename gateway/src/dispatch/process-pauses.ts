/**
 * Detects whether this process was paused recently: frozen or without CPU time for seconds. Messages from that time arrive late or are
 * missing, which is no evidence about the nodes.
 */
import type { Clock } from "../base/clock.ts";

const TICK_MS = 1_000;
/** A tick later than this shows that the process was paused. */
const STOPPED_MS = 3_000;
/** Within this time the process has read what arrived during a pause and noticed what was lost. */
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

  /** The length of a recent pause; 0 without one. May be called at any time: data in a socket is read before timers run. */
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
