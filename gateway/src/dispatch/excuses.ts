/**
 * Decides whether to believe that a plane server failed under a node. The node's own word is not enough, nor is a connection that it could
 * have opened and cut itself: nodes of other established hosts must have lost the same server at the same time. Pure; times are monotonic
 * milliseconds.
 */
import { WITNESS_MS, WITNESSES_MIN } from "../base/node-thresholds.ts";

/** Hits are kept for this long. */
const KEPT_MS = 60_000;

/** A node reconnected, and the plane reported no end of its former connection. */
export interface ServerLoss {
  nodeId: string;
  /** The people who own its host's account. */
  owners: readonly string[];
  /** The node's probation is over. */
  established: boolean;
  /** The server of its former connection. */
  server: string;
  at: number;
}

export class Excuses {
  #hits: ServerLoss[] = [];

  note(hit: ServerLoss, now: number): void {
    this.#hits = this.#hits.filter(({ at }) => now - at < KEPT_MS);
    if (hit.established && !this.#hits.some(({ nodeId, at }) => nodeId === hit.nodeId && at === hit.at))
      this.#hits.push(hit);
  }

  /**
   * Whether enough other nodes lost the server at the same time. Each must have an owner that neither this node nor another witness has.
   */
  believes({ owners, server, at }: Pick<ServerLoss, "owners" | "server" | "at">): boolean {
    const known = new Set(owners);
    let witnesses = 0;
    for (const hit of this.#hits) {
      if (hit.server !== server || Math.abs(hit.at - at) >= WITNESS_MS) continue;
      if (hit.owners.some((owner) => known.has(owner))) continue;
      witnesses += 1;
      for (const owner of hit.owners) known.add(owner);
    }
    return witnesses >= WITNESSES_MIN;
  }
}
