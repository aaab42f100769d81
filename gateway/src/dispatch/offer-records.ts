/**
 * Tracks how nodes respond to offers: refusals (busy although it has a free slot by the gateways' counts) and late
 * acceptances. A node that declines gets fewer offers, and then gradually more again. Records survive a reconnection. A
 * node that is new to this gateway begins with what the database has recorded about it and its host (`carry`). Pure
 * functions; the numbers are in base/node-trust-thresholds.ts.
 */
import { failurePenaltyMs, REFUSAL_PENALTIES, refusalPenaltyMs, SLOW_STREAM } from "../base/node-trust-thresholds.ts";

interface Conduct {
  /** The number of refusals in a row. A job that ends well halves it. */
  refusals: number;
  refusedAt: number;
  /** The number of jobs that the node ran at its latest refusal. */
  ran: number;
}

/** The failed or slow jobs of a node, or of a host's nodes, since the last job that ended well. */
interface Failing {
  times: number;
  at: number;
  shunnedUntil: number;
}

export class OfferRecords {
  readonly #nodes = new Map<string, Conduct>();
  readonly #failing = new Map<string, Failing>();

  /** Records a refusal. Returns for how many milliseconds other nodes are asked first. */
  refused(nodeId: string, ran: number, now: number): number {
    const refusals = this.refusalsOf(nodeId, now) + 1;
    this.#nodes.set(nodeId, { refusals, refusedAt: now, ran: Math.max(1, ran) });
    return refusalPenaltyMs(refusals);
  }

  /**
   * Adds a joining node's earlier refusals, unless this gateway has counted more. They do not limit how many jobs the
   * node gets now. Returns for how many milliseconds other nodes are asked first.
   */
  carry(nodeId: string, before: number, now: number): number {
    const refusals = Math.max(before, this.refusalsOf(nodeId, now));
    const ran = this.#nodes.get(nodeId)?.ran ?? Number.POSITIVE_INFINITY;
    this.#nodes.set(nodeId, { refusals, refusedAt: now, ran });
    return refusalPenaltyMs(refusals);
  }

  /** Records a failure of a node, also for its host. Returns until when other nodes are asked first. */
  failed(nodeId: string, hostId: string, how: "failed" | "crawled", now: number): number {
    for (const id of [nodeId, hostId]) {
      const times = (this.#failing.get(id)?.times ?? 0) + 1;
      const shunnedMs = how === "failed" ? failurePenaltyMs(times) : SLOW_STREAM.shunMs * times;
      this.#failing.set(id, { times, at: now, shunnedUntil: now + shunnedMs });
    }
    return this.#failing.get(nodeId)?.shunnedUntil ?? 0;
  }

  /** The time until which this host's nodes without an established record are asked only after other nodes. */
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
    return conduct === undefined || now - conduct.refusedAt >= REFUSAL_PENALTIES.forgottenMs ? 0 : conduct.refusals;
  }

  slotsMax(nodeId: string, now: number): number {
    const conduct = this.#nodes.get(nodeId);
    if (conduct === undefined) return Number.POSITIVE_INFINITY;
    return conduct.ran + Math.floor((now - conduct.refusedAt) / REFUSAL_PENALTIES.slotBackMs);
  }

  /**
   * Drops expired records. By then, up to sixty slots that a node lost by refusals have been restored; it gets any
   * further ones back at once.
   */
  sweep(now: number): void {
    for (const [id, { refusedAt }] of this.#nodes)
      if (now - refusedAt >= REFUSAL_PENALTIES.forgottenMs) this.#nodes.delete(id);
    for (const [id, { at }] of this.#failing) if (now - at >= REFUSAL_PENALTIES.forgottenMs) this.#failing.delete(id);
  }
}
