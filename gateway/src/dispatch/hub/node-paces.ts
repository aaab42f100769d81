/** What is remembered of each node's haste: how often it connects, and how much it sends on all its connections. */
import type { Clock } from "../../base/clock.ts";
import type { HubLimits } from "./limits.ts";
import { createPace, type Pace } from "./pace.ts";

const FORGET_EVERY_MS = 60_000;

interface Haste {
  connecting: Pace;
  sending: Pace;
}

export class NodePaces {
  readonly #limits: HubLimits;
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Haste>();
  readonly #isConnected: (nodeId: string) => boolean;
  #forgetAt = 0;

  constructor(limits: HubLimits, clock: Clock, isConnected: (nodeId: string) => boolean) {
    this.#limits = limits;
    this.#clock = clock;
    this.#isConnected = isConnected;
  }

  /** Counts a connection; false if the node connects too often. */
  mayConnect(nodeId: string): boolean {
    const nowMs = this.#clock.monotonic();
    this.#forget(nowMs);
    return this.#of(nodeId).connecting.spend(1, 0, nowMs) === 0;
  }

  paceOf(nodeId: string): Pace {
    return this.#of(nodeId).sending;
  }

  #of(nodeId: string): Haste {
    const known = this.#nodes.get(nodeId);
    if (known !== undefined) return known;
    const { connectsPerSecondMax, connectsBurstMs } = this.#limits;
    const connecting = { operationsPerSecondMax: connectsPerSecondMax, burstMs: connectsBurstMs };
    const haste = {
      connecting: createPace({ ...connecting, inboundBytesPerSecondMax: Number.POSITIVE_INFINITY }),
      sending: createPace(this.#limits),
    };
    this.#nodes.set(nodeId, haste);
    return haste;
  }

  /** Of a node that is not here and was in no haste there is nothing to remember: a new record says the same. */
  #forget(nowMs: number): void {
    if (nowMs < this.#forgetAt) return;
    this.#forgetAt = nowMs + FORGET_EVERY_MS;
    for (const [nodeId, { connecting, sending }] of this.#nodes) {
      const calm = connecting.isFresh(nowMs) && sending.isFresh(nowMs);
      if (calm && !this.#isConnected(nodeId)) this.#nodes.delete(nodeId);
    }
  }
}
