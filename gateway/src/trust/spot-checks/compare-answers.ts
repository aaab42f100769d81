/**
 * The fallback when no verifier can score an answer: a verifier answers the same request, and the two answers are
 * compared. Texts are compared by length, and by embedding if an embedding model is served, otherwise by their words.
 * Embeddings are compared directly. How similar two honest answers are depends on the model and on chance, so these
 * figures are calibrated like scores. Pure.
 */
import { computeMean, type Score } from "./score.ts";

/**
 * Compares two answers by their embeddings or words. `mean` and `opening` are similarities, `tail` is the difference in
 * length.
 */
export function compareAnswers(
  one: { text: string; tokens: number },
  other: { text: string; tokens: number },
  vectors?: readonly Float32Array[],
): Score {
  const likeness = vectors === undefined ? computeWordSimilarity(one.text, other.text) : cosine(vectors[0], vectors[1]);
  const tail = Math.abs(Math.log((one.tokens + 1) / (other.tokens + 1)));
  return { mean: likeness, opening: likeness, tail, tokens: one.tokens };
}

/** The least cosine of two vectors of one text from one model, allowing for rounding. */
const SAME_VECTOR = 0.98;

/** Compares two nodes' vectors for the same texts. */
export function compareVectors(one: readonly Float32Array[], other: readonly Float32Array[]): Score {
  const likeness = one.map((vector, i) => cosine(vector, other[i]));
  return {
    mean: computeMean(likeness),
    opening: likeness[0] ?? 0,
    tail: likeness.filter((value) => value < SAME_VECTOR).length / Math.max(likeness.length, 1),
    tokens: one.length,
  };
}

/** Returns 0 if a vector is invalid: missing, not finite, zero, or of another length. */
function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  if (a === undefined || b === undefined || a.length !== b.length) return 0;
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  const value = dot / Math.sqrt(aa * bb);
  return Number.isFinite(value) ? rounded(value) : 0;
}

/** The cosine similarity of the two texts' word counts. */
export function computeWordSimilarity(one: string, other: string): number {
  const [a, b] = [countWords(one), countWords(other)];
  let dot = 0;
  for (const [word, count] of a) dot += count * (b.get(word) ?? 0);
  const length = (of: Map<string, number>): number => Math.sqrt([...of.values()].reduce((sum, n) => sum + n * n, 0));
  const lengths = length(a) * length(b);
  // Texts without words, such as empty ones or a single symbol, are similar only if they are equal.
  if (lengths === 0) return one.trim() === other.trim() ? 1 : 0;
  return rounded(dot / lengths);
}

/** Rounds a similarity, because ranks must not depend on the last bits of equal answers. */
const rounded = (likeness: number): number => Math.round(likeness * 1e6) / 1e6;

/** The most words of a text that are compared: enough to recognize its topic. */
const WORDS_MAX = 2000;

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  let left = WORDS_MAX;
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    if (left-- === 0) break;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}
