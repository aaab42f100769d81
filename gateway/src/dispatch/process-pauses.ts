/**
 * Detects whether this process was recently paused (frozen, or without CPU time for seconds). Messages from that time
 * arrive late or are lost, which says nothing about the nodes.
 */
import type { Clock } from "../base/clock.ts";

const TICK_MS = 1_000;
/** A timer that is later than this shows that the process was paused. */
const STOPPED_MS = 3_000;
/**
 * This long after a pause, the process has certainly read the messages that arrived during the pause, and has noticed
 * which messages were lost.
 */
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

  /**
   * The length of a recent pause in milliseconds; 0 if there was none. Callers may read data from sockets before timers
   * run, so this checks for a pause itself.
   */
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
