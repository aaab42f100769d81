/**
 * Decides which answers are checked. The draw comes before the answer begins, so that the text of an unchecked answer
 * is never kept. Pure; `roll` is the randomness.
 */

export const SAMPLING = {
  /** For a node with a long record, one answer in this many. */
  oneIn: 100,
  /** For a node's first answers and for suspected nodes, one answer in this many. */
  oftenOneIn: 5,
  newcomerAnswers: 200,
  /**
   * Between these two cases, one answer in (number of recorded answers / this) is checked, so that a node gains little
   * from a short honest record.
   */
  oneInPerAnswers: 40,
  /** An active node is checked at least once in this time. */
  everyMs: 3_600_000,
} as const;

interface SampledNode {
  /** The number of the node's answers so far. */
  answers: number;
  /** Whether the sequential test has lasting evidence against the node. */
  suspected: boolean;
  /** The time at which a check is due regardless of the draw. */
  dueAt: number;
}

/** `roll`: uniform in [0, 1). */
export function isDrawnForCheck(
  { answers, suspected, dueAt }: SampledNode,
  { now, roll }: { now: number; roll: number },
): boolean {
  if (now >= dueAt) return true;
  const { oneIn, oftenOneIn, newcomerAnswers, oneInPerAnswers } = SAMPLING;
  if (suspected || answers < newcomerAnswers) return roll < 1 / oftenOneIn;
  return roll < 1 / Math.min(oneIn, answers / oneInPerAnswers);
}

/** Between half of the interval and the whole of it, so that no node can predict its next check. */
export const drawNextCheckTimeMs = (now: number, roll: number): number => now + SAMPLING.everyMs * (0.5 + roll / 2);

/**
 * The positions at which an engine is asked for the next token: ascending offsets into the answer, each at the start of
 * a word, where every tokenizer has a boundary. The start of the answer is always included, because text that was not
 * written for this prompt shows there first.
 */
export function chooseCutPositions(answer: string, count: number, roll: () => number): number[] {
  const starts: number[] = [];
  // Each position is before the space, because tokenizers put the space into the token of the following word.
  for (const match of answer.matchAll(/\s+(?=\S)/g)) if (match.index > 0) starts.push(match.index);
  const cuts = new Set([0]);
  while (cuts.size < count && starts.length > 0) {
    const [cut] = starts.splice(Math.floor(roll() * starts.length), 1);
    if (cut !== undefined) cuts.add(cut);
  }
  return [...cuts].sort((a, b) => a - b);
}
