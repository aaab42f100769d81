/**
 * How nodes responded to recent offers: refusals (busy although the gateways count a free slot) and late acceptances. A node that declines
 * is offered less, and then gradually more again. Records survive a reconnection. Pure; the numbers are in base/node-thresholds.ts.
 */
import { CRAWL, failedShunMs, REFUSALS, shunMs } from "../base/node-thresholds.ts";

interface Conduct {
  /** Refusals in a row. A job that ends well halves the count. */
  refusals: number;
  refusedAt: number;
  /** The jobs it ran at its latest refusal. */
  ran: number;
}

/** Failed or slow jobs of a node, or of a host's nodes, since the last one that ended well. */
interface Failing {
  times: number;
  at: number;
  shunnedUntil: number;
}

export class OfferRecords {
  readonly #nodes = new Map<string, Conduct>();
  readonly #failing = new Map<string, Failing>();

  /** Returns for how long the node is asked after all others. */
  refused(nodeId: string, ran: number, now: number): number {
    const refusals = this.refusalsOf(nodeId, now) + 1;
    this.#nodes.set(nodeId, { refusals, refusedAt: now, ran: Math.max(1, ran) });
    return shunMs(refusals);
  }

  /** Counts a failure of a node and its host. Returns until when the node is asked after all others. */
  failed(nodeId: string, hostId: string, how: "failed" | "crawled", now: number): number {
    for (const id of [nodeId, hostId]) {
      const times = (this.#failing.get(id)?.times ?? 0) + 1;
      const shunnedMs = how === "failed" ? failedShunMs(times) : CRAWL.shunMs * times;
      this.#failing.set(id, { times, at: now, shunnedUntil: now + shunnedMs });
    }
    return this.#failing.get(nodeId)?.shunnedUntil ?? 0;
  }

  /** Until when the host's nodes without a record are asked after all others. */
  shunnedUntil(hostId: string): number {
    return this.#failing.get(hostId)?.shunnedUntil ?? 0;
  }

  served(nodeId: string, hostId: string): void {
    this.#failing.delete(nodeId);
    this.#failing.delete(hostId);
    const conduct = this.#nodes.get(nodeId);
    if (conduct !== undefined) conduct.refusals >>= 1;
  }

  refusalsOf(nodeId: string, now: number): number {
    const conduct = this.#nodes.get(nodeId);
    return conduct === undefined || now - conduct.refusedAt >= REFUSALS.forgottenMs ? 0 : conduct.refusals;
  }

  slotsMax(nodeId: string, now: number): number {
    const conduct = this.#nodes.get(nodeId);
    if (conduct === undefined) return Number.POSITIVE_INFINITY;
    return conduct.ran + Math.floor((now - conduct.refusedAt) / REFUSALS.slotBackMs);
  }

  /** Drops expired records. Withdrawn slots are restored by then, unless there were more than sixty. */
  sweep(now: number): void {
    for (const [id, { refusedAt }] of this.#nodes) if (now - refusedAt >= REFUSALS.forgottenMs) this.#nodes.delete(id);
    for (const [id, { at }] of this.#failing) if (now - at >= REFUSALS.forgottenMs) this.#failing.delete(id);
  }
}
