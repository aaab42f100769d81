/**
 * Whether a node is believed that a server of the plane failed under it. Its own word is not enough, nor a connection that it could have
 * opened and cut itself: nodes of other established hosts must have lost the same server at the same time. Pure; moments are monotonic
 * milliseconds.
 */
import { WITNESS_MS, WITNESSES_MIN } from "../base/node-thresholds.ts";

/** Hits are asked about for so long. */
const KEPT_MS = 60_000;

/** A node that came by another connection, and of its former one no end was heard. */
export interface Hit {
  nodeId: string;
  /** The identities behind its host. */
  owners: readonly string[];
  /** Its probation is over. */
  established: boolean;
  /** The server that it was on. */
  server: string;
  at: number;
}

export class Excuses {
  #hits: Hit[] = [];

  note(hit: Hit, now: number): void {
    this.#hits = this.#hits.filter(({ at }) => now - at < KEPT_MS);
    if (hit.established && !this.#hits.some(({ nodeId, at }) => nodeId === hit.nodeId && at === hit.at))
      this.#hits.push(hit);
  }

  /** Whether enough others lost the server when this node did: each of an owner that neither it nor another witness has. */
  believes({ owners, server, at }: Pick<Hit, "owners" | "server" | "at">): boolean {
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
