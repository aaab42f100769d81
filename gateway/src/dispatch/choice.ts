/** Which node gets a request. */
import type { Random } from "../base/random.ts";
import type { Bag } from "./bag.ts";

interface Candidate {
  /** Jobs the node runs, as far as this gateway knows. */
  outstanding: number;
}

interface Choice<T> {
  mayServe: (node: T) => boolean;
  /** Median time to first token; null before any was measured. */
  ttftMs: (node: T) => number | null;
  random: Random;
}

const PICKED = 4;

/**
 * The least loaded of four free nodes picked at random, the faster one among equals. Looking at all would send every
 * gateway to the same node at once; four at random keep refusals rare without that.
 */
export function chooseNode<T extends Candidate>(free: Bag<T>, { mayServe, ttftMs, random }: Choice<T>): T | undefined {
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
