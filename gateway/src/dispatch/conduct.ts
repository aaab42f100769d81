/**
 * How nodes took what they were offered lately: refusals (busy, though the gateways' count leaves a slot) and late acceptances. A node
 * that declines is asked for less, and gets more again little by little. Pure; the numbers are in base/node-thresholds.ts. It outlives
 * a node's connection: who leaves and comes back is the same.
 */
import { CRAWL, failedShunMs, REFUSALS, shunMs } from "../base/node-thresholds.ts";

interface Conduct {
  /** In a row, nearly: a job that ends well takes back half of them. */
  refusals: number;
  refusedAt: number;
  /** What it ran when it refused last. */
  ran: number;
}

/** Jobs of a node or of a host's nodes that failed, or crawled, since one ended well. */
interface Failing {
  times: number;
  at: number;
  shunnedUntil: number;
}

export class Conducts {
  readonly #nodes = new Map<string, Conduct>();
  readonly #failing = new Map<string, Failing>();

  /** Returns for how long the node is asked last. */
  refused(nodeId: string, ran: number, now: number): number {
    const refusals = this.refusalsOf(nodeId, now) + 1;
    this.#nodes.set(nodeId, { refusals, refusedAt: now, ran: Math.max(1, ran) });
    return shunMs(refusals);
  }

  /** Of a node and of its host. Returns until when the node is asked last. */
  failed(nodeId: string, hostId: string, how: "failed" | "crawled", now: number): number {
    for (const id of [nodeId, hostId]) {
      const times = (this.#failing.get(id)?.times ?? 0) + 1;
      const shunnedMs = how === "failed" ? failedShunMs(times) : CRAWL.shunMs * times;
      this.#failing.set(id, { times, at: now, shunnedUntil: now + shunnedMs });
    }
    return this.#failing.get(nodeId)?.shunnedUntil ?? 0;
  }

  /** Until when nodes of the host that have no record yet are asked last. */
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

  /** Forgets what does not count any more. Slots that were taken away are back by then, unless there were more than sixty. */
  sweep(now: number): void {
    for (const [id, { refusedAt }] of this.#nodes) if (now - refusedAt >= REFUSALS.forgottenMs) this.#nodes.delete(id);
    for (const [id, { at }] of this.#failing) if (now - at >= REFUSALS.forgottenMs) this.#failing.delete(id);
  }
}
