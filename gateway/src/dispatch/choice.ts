/** Chooses the node for a request: by preference first, then by load. */
import type { Random } from "../base/random.ts";
import type { RandomSet } from "./random-set.ts";

interface Candidate {
  /** Jobs that the node runs, as far as this gateway knows. */
  outstanding: number;
}

interface Choice<T> {
  /** Median time to first token; null before any was measured. */
  ttftMs: (node: T) => number | null;
  random: Random;
}

const PICKED = 4;

/**
 * A free node among the able ones; undefined when all are busy. `preferred` ranks the nodes to ask. If a node of the best rank is busy, the
 * request waits for it; lower ranks are asked only when a rank has no node.
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
 * The least loaded of four free nodes drawn at random; among equals the faster one. If every gateway compared all nodes, all would pick the
 * same one at once; four at random keep refusals rare without that.
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
