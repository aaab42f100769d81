/**
 * Generates text and vectors that depend only on a key. Each unit of the text (a word with its space, or a full stop)
 * is one token in the catalogue's vocabularies, so `n` units are `n` tokens.
 */
import { createHash } from "node:crypto";

const OPENINGS = ["The", "A", "Every", "This", "One", "Another"];
const ADJECTIVES = [
  "old",
  "small",
  "quiet",
  "bright",
  "green",
  "long",
  "new",
  "warm",
  "simple",
  "open",
  "slow",
  "deep",
];
const NOUNS = [
  "river",
  "house",
  "garden",
  "road",
  "window",
  "bird",
  "tree",
  "table",
  "city",
  "letter",
  "story",
  "light",
];
const VERBS = ["follows", "keeps", "finds", "holds", "moves", "leaves", "brings", "shows", "takes", "makes"];
const LINKS = ["near", "under", "behind", "beside", "before", "with", "over", "without"];
const ARTICLES = ["the", "a", "another", "each", "this"];

/** Generates endless text, word by word. The same key gives the same text. */
export function* generateProse(key: string): Generator<string, never> {
  const random = randomFrom(key);
  const pick = (words: readonly string[]): string => words[Math.floor(random() * words.length)] as string;
  let first = true;
  while (true) {
    yield `${first ? "" : " "}${pick(OPENINGS)}`;
    first = false;
    if (random() < 0.7) yield ` ${pick(ADJECTIVES)}`;
    for (const words of [NOUNS, VERBS, ARTICLES]) yield ` ${pick(words)}`;
    if (random() < 0.5) yield ` ${pick(ADJECTIVES)}`;
    for (const words of [NOUNS, LINKS, ARTICLES, NOUNS]) yield ` ${pick(words)}`;
    yield ".";
  }
}

/** Generates whole sentences, about 100 words and full stops in total. */
export function* generateShortProse(key: string): Generator<string> {
  let count = 0;
  for (const unit of generateProse(key)) {
    yield unit;
    count++;
    if (unit === "." && count >= 95) return;
  }
}

/** A unit vector whose direction depends only on the text. */
export function makeUnitVector(text: string, width: number): Float32Array {
  const random = randomFrom(text);
  const values = Float32Array.from({ length: width }, () => random() - 0.5);
  return normaliseVector(values);
}

export function normaliseVector(values: Float32Array): Float32Array {
  let squares = 0;
  for (const value of values) squares += value * value;
  const length = Math.sqrt(squares);
  return length === 0 ? values : values.map((value) => value / length);
}

/** Pseudorandom numbers from 0 to 1 that depend only on the key: xoshiro128**, seeded by a hash. */
function randomFrom(key: string): () => number {
  const seed = createHash("sha256").update(key).digest();
  let [a, b, c, d] = [seed.readInt32LE(0), seed.readInt32LE(4), seed.readInt32LE(8), seed.readInt32LE(12)];
  return () => {
    const product = Math.imul(b, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9);
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = (d << 11) | (d >>> 21);
    return (result >>> 0) / 2 ** 32;
  };
}
