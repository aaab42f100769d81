/**
 * Counts tokens of a SentencePiece unigram vocabulary (that of XLM-RoBERTa, which BGE-M3 uses) like the reference
 * tokenizer. It normalizes the text, splits it at white space, puts the word mark before each word, and splits each
 * word into the pieces with the highest total score. Consecutive unknown characters are one token.
 */
import { type AddedTokens, findAddedToken, indexAddedTokens } from "../added-tokens.ts";
import {
  CLASSIFIED_CODE_POINTS_END,
  CONTROL_BIT,
  GRAPHEME_EXTENDS_BIT,
  GRAPHEME_PREPENDS_BIT,
  isHighSurrogate,
  isLowSurrogate,
} from "../character-classes.ts";
import { CODE_POINT_UNCHANGED, encodeCodePoint, findReplacement } from "./normalization-map.ts";
import type { UnigramTables } from "./tables.ts";
import { WordSplit } from "./word-split.ts";

/** The first character that may continue a grapheme cluster. */
const EXTENDERS_START = 0x300;
/** The length in bytes from which a grapheme cluster is normalized character by character. */
const CLUSTER_BYTES_END = 6;
/** Counting stops only when a long word exceeds the limit by this margin: its last pieces may still change. */
const WORD_SLACK_TOKENS = 256;
const REPLACEMENT = 0xfffd;

export class UnigramCounter {
  readonly #tables: UnigramTables;
  readonly #split: WordSplit;
  readonly #added: AddedTokens;
  readonly #bytes = new Uint8Array(CLUSTER_BYTES_END + 4);

  constructor(tables: UnigramTables) {
    this.#tables = tables;
    this.#split = new WordSplit(tables);
    this.#added = indexAddedTokens(tables.addedTokens);
  }

  /** Returns the number of tokens of a text, including special tokens. A result above `limit` is only a lower bound. */
  count(text: string, limit = Number.POSITIVE_INFINITY): number {
    let tokens = 0;
    let from = 0;
    for (;;) {
      const found = findAddedToken(this.#added, text, from);
      tokens += this.#countPlain(text, from, found?.at ?? text.length, limit - tokens);
      if (found === undefined || tokens > limit) return tokens;
      tokens++;
      from = found.end;
    }
  }

  #countPlain(text: string, from: number, to: number, limit: number): number {
    const split = this.#split;
    split.start();
    for (let at = from; at < to; ) {
      const unit = text.charCodeAt(at);
      const isAscii = unit >= 0x20 && unit < 0x7f;
      if (isAscii && (at + 1 === to || text.charCodeAt(at + 1) < EXTENDERS_START)) {
        split.put(unit);
        at++;
      } else {
        at = this.#putCluster(text, at, to);
      }
      if (split.tokens > limit || split.tokensSoFar > limit + WORD_SLACK_TOKENS) return limit + 1;
    }
    split.endWord();
    return split.tokens;
  }

  /** Adds the grapheme cluster at `from` in its normalized form. Returns the end of the cluster. */
  #putCluster(text: string, from: number, to: number): number {
    const { charsmap } = this.#tables;
    let byteLength = 0;
    let end = from;
    let isJoined = true;
    while (isJoined && byteLength < CLUSTER_BYTES_END) {
      const codePoint = wellFormedAt(text, end, to);
      byteLength = encodeCodePoint(codePoint, this.#bytes, byteLength);
      end += codePoint > 0xffff ? 2 : 1;
      isJoined = end < to && this.#areJoined(codePoint, wellFormedAt(text, end, to));
    }
    if (byteLength < CLUSTER_BYTES_END) {
      const replacement = findReplacement(charsmap.trie, this.#bytes, byteLength);
      if (replacement !== CODE_POINT_UNCHANGED) {
        this.#putReplacement(replacement);
        return end;
      }
    }
    return this.#putCharacters(text, from, to);
  }

  /** Adds a grapheme cluster character by character. */
  #putCharacters(text: string, from: number, to: number): number {
    for (let at = from; ; ) {
      const codePoint = wellFormedAt(text, at, to);
      this.#putCharacter(codePoint);
      at += codePoint > 0xffff ? 2 : 1;
      if (at >= to || !this.#areJoined(codePoint, wellFormedAt(text, at, to))) return at;
    }
  }

  #putCharacter(codePoint: number): void {
    const { charsmap } = this.#tables;
    if (codePoint <= 0xffff) {
      const replacement = charsmap.single[codePoint] as number;
      if (replacement === CODE_POINT_UNCHANGED) this.#split.put(codePoint);
      else this.#putReplacement(replacement);
      return;
    }
    const replacement = findReplacement(charsmap.trie, this.#bytes, encodeCodePoint(codePoint, this.#bytes, 0));
    if (replacement === CODE_POINT_UNCHANGED) this.#putKept(codePoint);
    else this.#putReplacement(replacement);
  }

  #putKept(codePoint: number): void {
    if (codePoint <= 0xffff) {
      this.#split.put(codePoint);
    } else {
      this.#split.put(0xd800 | ((codePoint - 0x10000) >> 10));
      this.#split.put(0xdc00 | (codePoint & 0x3ff));
    }
  }

  /** Adds a replacement, which is stored as zero-terminated UTF-8. */
  #putReplacement(at: number): void {
    const { replacements } = this.#tables.charsmap;
    for (let i = at; replacements[i] !== 0; ) {
      const lead = replacements[i++] as number;
      let codePoint = lead < 0x80 ? lead : lead < 0xe0 ? lead & 0x1f : lead < 0xf0 ? lead & 0x0f : lead & 0x07;
      for (; ((replacements[i] as number) & 0xc0) === 0x80; i++) {
        codePoint = (codePoint << 6) | ((replacements[i] as number) & 0x3f);
      }
      this.#putKept(codePoint);
    }
  }

  /** Whether two characters are in one grapheme cluster. Correct for clusters of less than six bytes. */
  #areJoined(left: number, right: number): boolean {
    const { classes } = this.#tables;
    const leftFlags = left < CLASSIFIED_CODE_POINTS_END ? (classes[left] as number) : 0;
    const rightFlags = right < CLASSIFIED_CODE_POINTS_END ? (classes[right] as number) : 0;
    if (((leftFlags | rightFlags) & CONTROL_BIT) !== 0) return false;
    return (rightFlags & GRAPHEME_EXTENDS_BIT) !== 0 || (leftFlags & GRAPHEME_PREPENDS_BIT) !== 0;
  }
}

/** The code point at `at`, or U+FFFD for a lone surrogate. */
function wellFormedAt(text: string, at: number, to: number): number {
  const unit = text.charCodeAt(at);
  if (isLowSurrogate(unit)) return REPLACEMENT;
  if (!isHighSurrogate(unit)) return unit;
  const low = at + 1 < to ? text.charCodeAt(at + 1) : 0;
  return isLowSurrogate(low) ? 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff) : REPLACEMENT;
}
