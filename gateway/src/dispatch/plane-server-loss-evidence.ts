/**
 * Decides whether a server of the dispatch plane failed while a node was connected to it. The node's own report is not
 * enough, nor is a connection that it could have opened and closed itself. Nodes of other established hosts must have
 * lost the same server at the same time. Pure functions; times are monotonic milliseconds.
 */
import { SERVER_LOSS_WITNESSES_MIN, SIMULTANEOUS_SERVER_LOSS_WINDOW_MS } from "../base/node-trust-thresholds.ts";

/** How long lost servers are remembered. */
const KEPT_MS = 60_000;

/** The loss of a server: a node reconnected, and the plane had reported no end of its earlier connection. */
export interface PlaneServerLoss {
  nodeId: string;
  /** The people who own the account of the node's host. */
  owners: readonly string[];
  /** Whether the node's probation has ended. */
  established: boolean;
  /** The server of the earlier connection. */
  server: string;
  at: number;
}

export class PlaneServerLossEvidence {
  #hits: PlaneServerLoss[] = [];

  note(hit: PlaneServerLoss, now: number): void {
    this.#hits = this.#hits.filter(({ at }) => now - at < KEPT_MS);
    if (hit.established && !this.#hits.some(({ nodeId, at }) => nodeId === hit.nodeId && at === hit.at))
      this.#hits.push(hit);
  }

  /**
   * Whether enough other nodes lost the server at the same time. None of these may share an owner with this node, or
   * with another of them.
   */
  believes({ owners, server, at }: Pick<PlaneServerLoss, "owners" | "server" | "at">): boolean {
    const known = new Set(owners);
    let witnesses = 0;
    for (const hit of this.#hits) {
      if (hit.server !== server || Math.abs(hit.at - at) >= SIMULTANEOUS_SERVER_LOSS_WINDOW_MS) continue;
      if (hit.owners.some((owner) => known.has(owner))) continue;
      witnesses += 1;
      for (const owner of hit.owners) known.add(owner);
    }
    return witnesses >= SERVER_LOSS_WITNESSES_MIN;
  }
}
