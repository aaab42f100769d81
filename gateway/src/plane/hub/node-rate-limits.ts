/** Rate limits per node: for new connections, and for data over all of the node's connections. */
import type { Clock } from "../../base/clock.ts";
import type { HubLimits } from "./hub-limits.ts";
import { createRateLimit, type RateLimit } from "./rate-limit.ts";

const FORGET_EVERY_MS = 60_000;

interface NodeLimits {
  connecting: RateLimit;
  sending: RateLimit;
}

export class NodeRateLimits {
  readonly #limits: HubLimits;
  readonly #clock: Clock;
  readonly #nodes = new Map<string, NodeLimits>();
  readonly #isConnected: (nodeId: string) => boolean;
  #forgetAt = 0;

  constructor(limits: HubLimits, clock: Clock, isConnected: (nodeId: string) => boolean) {
    this.#limits = limits;
    this.#clock = clock;
    this.#isConnected = isConnected;
  }

  /** Counts a connection. Returns false if the node connects too often. */
  mayConnect(nodeId: string): boolean {
    const nowMs = this.#clock.monotonic();
    this.#forget(nowMs);
    return this.#of(nodeId).connecting.spend(1, 0, nowMs) === 0;
  }

  ofSending(nodeId: string): RateLimit {
    return this.#of(nodeId).sending;
  }

  #of(nodeId: string): NodeLimits {
    const known = this.#nodes.get(nodeId);
    if (known !== undefined) return known;
    const { connectsPerSecondMax, connectsBurstMs } = this.#limits;
    const connecting = { operationsPerSecondMax: connectsPerSecondMax, burstMs: connectsBurstMs };
    const limits = {
      connecting: createRateLimit({ ...connecting, inboundBytesPerSecondMax: Number.POSITIVE_INFINITY }),
      sending: createRateLimit(this.#limits),
    };
    this.#nodes.set(nodeId, limits);
    return limits;
  }

  /**
   * Drops the rate limits of disconnected nodes whose allowance is full again, because new rate limits would be equal.
   */
  #forget(nowMs: number): void {
    if (nowMs < this.#forgetAt) return;
    this.#forgetAt = nowMs + FORGET_EVERY_MS;
    for (const [nodeId, { connecting, sending }] of this.#nodes) {
      const unused = connecting.isFresh(nowMs) && sending.isFresh(nowMs);
      if (unused && !this.#isConnected(nodeId)) this.#nodes.delete(nodeId);
    }
  }
}
