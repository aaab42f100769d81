/** Which node gets a request. Pure. */
import type { Random } from "../base/random.ts";

interface Candidate {
  /** Jobs the node runs, as far as this gateway knows, and how many it can run. */
  outstanding: number;
  slots: number;
}

const PICKED = 4;

/**
 * The least loaded of four free nodes picked at random, the faster one among equals. Looking at all would send every
 * gateway to the same node at once; four at random keep refusals rare without that.
 */
export function chooseNode<T extends Candidate>(
  candidates: T[],
  /** Median time to first token; null before any was measured. */
  ttftMs: (node: T) => number | null,
  random: Random,
): T | undefined {
  const free = candidates.filter((node) => node.outstanding < node.slots);
  let best: T | undefined;
  for (let picked = 0; picked < PICKED && free.length > 0; picked++) {
    const [node] = free.splice(random.below(free.length), 1) as [T];
    if (best === undefined || isBetter(node, best)) best = node;
  }
  return best;

  function isBetter(a: T, b: T): boolean {
    if (a.outstanding !== b.outstanding) return a.outstanding < b.outstanding;
    return (ttftMs(a) ?? Number.POSITIVE_INFINITY) < (ttftMs(b) ?? Number.POSITIVE_INFINITY);
  }
}
