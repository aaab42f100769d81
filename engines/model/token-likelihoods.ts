/**
 * Decides which tokens the model is likely to generate. Its weights are random, except for one channel that adds a
 * constant to each token's score, so that tests can rely on the kind of output. Most tokens are plain words with a
 * space before them: a tokenizer divides their text into the same tokens again, so the gateway's count equals the
 * engine's. Sometimes there is a smiley, in two tokens that are not characters by themselves. An answer has no other
 * tokens and never ends by itself; a limit ends it. Braces, quotes and the end token occur only if a grammar allows no
 * words: closing ones first, then the end.
 */
import { spellBytes } from "./byte-level-spelling.ts";
import type { Tokenizer } from "./tokenizer.ts";

const WORDS = `able above air all along animal answer apple around ask autumn away back bank bear before begin bell below
  between bird blue boat book both bread bridge bright bring brother brown build call came candle carry chair circle city clear
  clock close cloud cold colour come corner country cross dance dark day deep dinner door down dream drive early earth east
  easy evening every family farm father field find fire fish flower follow forest four fresh friend garden gentle give glass
  gold grass great green ground group grow half hand happy harbour hear heart heavy help high hill home hope horse house
  idea island keep kind king kitchen lake land large last late laugh lead leaf learn leave left letter light line listen`;
/** The first three bytes of 64 smileys with a space before them. Each smiley has its own fourth byte. */
const SMILEY_START = spellBytes(Buffer.from(" \u{1F600}").subarray(0, 4));
const SMILEY_ENDS = Array.from({ length: 64 }, (_, i) => spellBytes([0x80 + i]));

const SMILEY_SCORE = 2;
const OTHER_SCORE = -20;
const NEVER_SCORE = -30;
/** The scores of groups of tokens, relative to those of words, which are around 0. */
const SCORES = new Map([
  ["}", -6],
  ["]", -6.5],
  ['"', -7],
  ["{", -7.5],
  ["[", -8],
  [":", -8.5],
  [",", -9],
  ["<|eot_id|>", -10],
]);

export interface Likelihood {
  /** The constant that is added to each token's score. */
  scores: Float32Array;
  /** The tokens whose scores depend on the preceding tokens. */
  moved: Set<number>;
  /** The first token of every smiley. Exactly one of `smileyEnds` follows it. */
  smileyStart: number;
  smileyEnds: number[];
}

export function computeLikelihood({ tokens, specialFrom }: Tokenizer): Likelihood {
  const idOf = new Map(tokens.map((token, id) => [token, id]));
  const idsOf = (spellings: string[]): number[] =>
    spellings.map((text) => idOf.get(text)).filter((id) => id !== undefined);
  const scores = Float32Array.from(
    tokens,
    (token, id) => SCORES.get(token) ?? (id < specialFrom ? OTHER_SCORE : NEVER_SCORE),
  );
  const words = idsOf(WORDS.split(/\s+/).map((word) => `Ġ${word}`));
  for (const id of words) scores[id] = 0;
  const [smileyStart] = idsOf([SMILEY_START]);
  // True for smileys that the vocabulary also has as a single token. They are left out, because the gateway would count
  // them as one.
  const isOneToken = (end: string): boolean => idOf.has(SMILEY_START + end) || idOf.has(SMILEY_START.slice(1) + end);
  const smileyEnds = idsOf(SMILEY_ENDS.filter((end) => !isOneToken(end)));
  if (smileyStart === undefined || smileyEnds.length === 0)
    throw new Error("the vocabulary has no smiley of two tokens");
  scores[smileyStart] = SMILEY_SCORE;
  for (const id of smileyEnds) scores[id] = NEVER_SCORE;
  return { scores, moved: new Set([...words, smileyStart]), smileyStart, smileyEnds };
}
