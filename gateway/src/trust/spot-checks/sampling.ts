/**
 * Which answers are checked. Pure: the gateway's randomness comes in as `roll`. The draw is made before the answer begins, so that
 * the text of an answer that is not checked is never kept for it.
 */

export const SAMPLING = {
  /** Of a node that is known, one answer in so many. */
  oneIn: 100,
  /** Of a node's first answers, and of one that the sequential test suspects, one in so many. */
  oftenOneIn: 5,
  newcomerAnswers: 200,
  /** From there the draw falls with a node's answers until it is that of a known node: a record is not lived off at once. */
  oneInPerAnswers: 40,
  /** A node that serves is checked at least this often. */
  everyMs: 3_600_000,
} as const;

interface SampledNode {
  /** Answers that it gave so far. */
  answers: number;
  /** The sequential test has evidence against it that has not gone away. */
  suspected: boolean;
  /** When the next check is due whatever the draw says. */
  dueAt: number;
}

/** `roll`: uniform in [0, 1). */
export function isDrawn(
  { answers, suspected, dueAt }: SampledNode,
  { now, roll }: { now: number; roll: number },
): boolean {
  if (now >= dueAt) return true;
  const { oneIn, oftenOneIn, newcomerAnswers, oneInPerAnswers } = SAMPLING;
  if (suspected || answers < newcomerAnswers) return roll < 1 / oftenOneIn;
  return roll < 1 / Math.min(oneIn, answers / oneInPerAnswers);
}

/** Between half the time and all of it, so that no node can tell when its next check is due. */
export const nextDue = (now: number, roll: number): number => now + SAMPLING.everyMs * (0.5 + roll / 2);

/**
 * Where an engine is asked for the next token's candidates: offsets into the answer, ascending, each at the start of a word, so
 * that every tokenizer has a boundary there. The start of the answer is always one: text that was not written for this prompt
 * shows there first.
 */
export function cutsOf(answer: string, count: number, roll: () => number): number[] {
  const starts: number[] = [];
  // Behind white space: tokenizers put a space before a word into its token, so the cut is before the space.
  for (const match of answer.matchAll(/\s+(?=\S)/g)) if (match.index > 0) starts.push(match.index);
  const cuts = new Set([0]);
  while (cuts.size < count && starts.length > 0) {
    const [cut] = starts.splice(Math.floor(roll() * starts.length), 1);
    if (cut !== undefined) cuts.add(cut);
  }
  return [...cuts].sort((a, b) => a - b);
}
