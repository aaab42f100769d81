/**
 * Decides how long a disconnected node is refused: one second, and twice as long each time that the hub disconnects it
 * again soon. So a loop of connecting and flooding has no effect. After a quiet period the time is one second again.
 */
import type { Clock } from "../base/clock.ts";
import { MINUTE_MS } from "../base/time.ts";

const BACKOFF_MS_MIN = 1_000;
const BACKOFF_MS_MAX = 60_000;
const FORGIVEN_AFTER_MS = 10 * MINUTE_MS;

interface Backoff {
  lastMs: number;
  until: number;
}

export class ReconnectBackoff {
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Backoff>();
  #forgetAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(nodeId: string): void {
    const now = this.#clock.monotonic();
    this.#forget(now);
    const last = this.#nodes.get(nodeId);
    const again = last !== undefined && now - last.until < FORGIVEN_AFTER_MS;
    const lastMs = again ? Math.min(BACKOFF_MS_MAX, 2 * last.lastMs) : BACKOFF_MS_MIN;
    this.#nodes.set(nodeId, { lastMs, until: now + lastMs });
  }

  /** The remaining time in milliseconds. 0: the node may connect. */
  leftMs(nodeId: string): number {
    return Math.max(0, (this.#nodes.get(nodeId)?.until ?? 0) - this.#clock.monotonic());
  }

  #forget(now: number): void {
    if (now < this.#forgetAt) return;
    this.#forgetAt = now + FORGIVEN_AFTER_MS;
    for (const [nodeId, { until }] of this.#nodes) if (now - until >= FORGIVEN_AFTER_MS) this.#nodes.delete(nodeId);
  }
}
