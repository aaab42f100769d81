/** Chooses the node for a request: the best rank first, then the lowest load. */
import type { Random } from "../base/random.ts";
import type { RandomSet } from "./random-set.ts";

interface Candidate {
  /** The number of jobs that the node runs, by the gateways' counts. */
  outstanding: number;
}

interface Choice<T> {
  /** The node's median time to first token; null if none was measured. */
  ttftMs: (node: T) => number | null;
  random: Random;
}

const PICKED = 4;

/**
 * Chooses a free node among the able ones; undefined if all are busy. `preferred` ranks the able nodes. While the nodes
 * of the best rank are busy, the request waits for them. Lower ranks are only asked if a rank has no node at all.
 */
export function pickNode<T extends Candidate>(
  { able, free }: { able: RandomSet<T>; free: RandomSet<T> },
  preferred: ((node: T) => boolean)[],
  choice: Choice<T>,
): T | undefined {
  for (const mayServe of preferred) {
    const node = chooseNode(free, mayServe, choice);
    if (node !== undefined || able.some(mayServe)) return node;
  }
  return undefined;
}

/**
 * The least loaded of four randomly drawn free nodes; the faster one if their load is equal. If every gateway compared
 * all nodes, all would choose the same node at once. Four random nodes avoid that, and refusals stay rare.
 */
function chooseNode<T extends Candidate>(
  free: RandomSet<T>,
  mayServe: (node: T) => boolean,
  { ttftMs, random }: Choice<T>,
): T | undefined {
  const [first, ...others] = free.draw(PICKED, random, mayServe);
  if (first === undefined) return undefined;
  let best = first;
  for (const node of others) if (isBetter(node, best)) best = node;
  return best;

  function isBetter(a: T, b: T): boolean {
    if (a.outstanding !== b.outstanding) return a.outstanding < b.outstanding;
    return (ttftMs(a) ?? Number.POSITIVE_INFINITY) < (ttftMs(b) ?? Number.POSITIVE_INFINITY);
  }
}
