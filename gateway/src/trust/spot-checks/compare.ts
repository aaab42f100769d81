/**
 * The fallback where no verifier can score: it answers the same request, and the two answers are compared. Pure. By meaning where an
 * embedding model is served, else by their words, and by length; vectors of an embedding model directly. What two honest answers
 * have in common depends on the model and on chance, so these figures too are judged by calibration only.
 */
import { meanOf, type Score } from "./score.ts";

/** Of two answers' embeddings, or of their words. `mean` and `opening` are the likeness, `tail` how far apart the lengths are. */
export function compareAnswers(
  one: { text: string; tokens: number },
  other: { text: string; tokens: number },
  vectors?: readonly Float32Array[],
): Score {
  const likeness = vectors === undefined ? wordLikeness(one.text, other.text) : cosine(vectors[0], vectors[1]);
  const tail = Math.abs(Math.log((one.tokens + 1) / (other.tokens + 1)));
  return { mean: likeness, opening: likeness, tail, tokens: one.tokens };
}

/** Below it two vectors are not of one text and one model; engines and batches round differently. */
const SAME_VECTOR = 0.98;

/** Of the same texts' vectors from two nodes. */
export function compareVectors(one: readonly Float32Array[], other: readonly Float32Array[]): Score {
  const likeness = one.map((vector, i) => cosine(vector, other[i]));
  return {
    mean: meanOf(likeness),
    opening: likeness[0] ?? 0,
    tail: likeness.filter((value) => value < SAME_VECTOR).length / Math.max(likeness.length, 1),
    tokens: one.length,
  };
}

/** 0 where one of them is no vector: missing, not finite, without length, or of another width. */
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
  return Number.isFinite(value) ? value : 0;
}

/** The cosine of the two texts' word counts. */
export function wordLikeness(one: string, other: string): number {
  const [a, b] = [countWords(one), countWords(other)];
  let dot = 0;
  for (const [word, count] of a) dot += count * (b.get(word) ?? 0);
  const length = (of: Map<string, number>): number => Math.sqrt([...of.values()].reduce((sum, n) => sum + n * n, 0));
  const lengths = length(a) * length(b);
  return lengths === 0 ? 0 : dot / lengths;
}

/** Enough of a text to tell what it is about. */
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
