/**
 * How often a node is believed that the plane lost it while it was well. A server of the plane that dies takes many nodes with
 * it; a node that breaks off its jobs and connects anew, so that it looks the same, is alone. Pure; moments are monotonic
 * milliseconds.
 */

/** Of a node that is hit alone. */
const EXCUSES_MAX = 3;
const WINDOW_MS = 10 * 60_000;
/** Nodes of different hosts that are hit within this time were hit by the same thing. */
const TOGETHER_MS = 5_000;
/** One node's that are remembered: one more than are believed of one that is alone. */
const KEPT_MAX = EXCUSES_MAX + 1;

interface Hit {
  nodeId: string;
  hostId: string;
  /** What it was hit by: everything it ran then is one excuse. */
  incidentAt: number;
}

export class Excuses {
  #hits: Hit[] = [];
  #awayAt = Number.NEGATIVE_INFINITY;

  /** The gateway itself was hit. */
  away(now: number): void {
    this.#awayAt = now;
  }

  /** Whether the node is believed. `incidentAt` tells one incident from the next. */
  believes(node: { nodeId: string; hostId: string }, incidentAt: number, now: number): boolean {
    this.#hits = this.#hits.filter((hit) => now - hit.incidentAt < WINDOW_MS);
    const own = this.#hits.filter(({ nodeId }) => nodeId === node.nodeId);
    if (!own.some((hit) => hit.incidentAt === incidentAt)) {
      if (own.length >= KEPT_MAX) this.#hits.splice(this.#hits.indexOf(own[0] as Hit), 1);
      const hit = { ...node, incidentAt };
      this.#hits.push(hit);
      own.push(hit);
    }
    const current = own.find((hit) => hit.incidentAt === incidentAt) as Hit;
    if (!this.#wasAlone(current)) return true;
    return own.filter((hit) => this.#wasAlone(hit)).length <= EXCUSES_MAX;
  }

  #wasAlone({ hostId, incidentAt }: Hit): boolean {
    if (Math.abs(this.#awayAt - incidentAt) < TOGETHER_MS) return false;
    return !this.#hits.some((hit) => hit.hostId !== hostId && Math.abs(hit.incidentAt - incidentAt) < TOGETHER_MS);
  }
}
