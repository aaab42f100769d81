/**
 * Splits words into the pieces with the highest total score, and counts them. Characters are added one at a time. White
 * space ends a word; a word mark ends a word and starts the next.
 */
import { isHighSurrogate, WHITESPACE_BIT } from "../character-classes.ts";
import { hashUnits, PieceCache } from "../piece-cache.ts";
import { NO_CHILD, type UnigramTables, WORD_START } from "./tables.ts";

/** The longest word that is split at once. A longer one is split while it arrives. */
const WORD_UNITS_MAX = 1024;
/** Up to this many children are searched one by one. */
const FEW = 4;

export class WordSplit {
  readonly #tables: UnigramTables;
  readonly #cache = new PieceCache();
  /** The current word with its mark, without the part whose split is certain. */
  readonly #units = new Uint16Array(WORD_UNITS_MAX);
  #length = 0;
  /**
   * Every piece that starts before this position has been tried. Above 0 only for a word that is too long to be split
   * at once.
   */
  #tried = 0;
  #isLong = false;
  /** For the best split up to each position: its score, its tokens, and whether it ends with an unknown piece. */
  readonly #best = new Float64Array(WORD_UNITS_MAX + 1);
  readonly #bestTokens = new Int32Array(WORD_UNITS_MAX + 1);
  readonly #endsUnknown = new Uint8Array(WORD_UNITS_MAX + 1);
  /** The number of tokens of all complete words. */
  tokens = 0;

  constructor(tables: UnigramTables) {
    this.#tables = tables;
  }

  /** `tokens` plus the tokens of the current word, which more text may reduce. */
  get tokensSoFar(): number {
    return this.tokens + (this.#isLong ? (this.#bestTokens[this.#tried] as number) : 0);
  }

  start(): void {
    this.tokens = 0;
    this.#length = 0;
    this.#isLong = false;
  }

  put(unit: number): void {
    if (((this.#tables.classes[unit] as number) & WHITESPACE_BIT) !== 0) {
      this.endWord();
      return;
    }
    if (unit === WORD_START) this.endWord();
    else if (this.#length === 0) this.#units[this.#length++] = WORD_START;
    else if (this.#length === WORD_UNITS_MAX) this.#settle();
    this.#units[this.#length++] = unit;
  }

  endWord(): void {
    const length = this.#length;
    if (length === 0) return;
    this.#length = 0;
    if (this.#isLong) {
      this.#tryPieces(length, length);
      this.tokens += this.#bestTokens[length] as number;
      this.#isLong = false;
      return;
    }
    const hash = hashUnits(this.#units, 0, length);
    let count = this.#cache.get(hash, this.#units, 0, length);
    if (count === undefined) {
      this.#begin(length);
      this.#tryPieces(length, length);
      count = this.#bestTokens[length] as number;
      this.#cache.set(hash, this.#units, 0, length, count);
    }
    this.tokens += count;
  }

  #begin(length: number): void {
    this.#tried = 0;
    this.#best.fill(Number.NEGATIVE_INFINITY, 1, length + 1);
    this.#best[0] = 0;
    this.#bestTokens[0] = 0;
    this.#endsUnknown[0] = 0;
  }

  /**
   * Tries the pieces at every start position for which more units cannot add a longer piece. Drops the units whose
   * split is certain.
   */
  #settle(): void {
    const length = this.#length;
    if (!this.#isLong) this.#begin(length);
    this.#isLong = true;
    this.#tryPieces(length - this.#tables.pieceUnitsMax, length);
    const settled = this.#tried;
    for (const places of [this.#units, this.#best, this.#bestTokens, this.#endsUnknown]) {
      places.copyWithin(0, settled, length + 1);
    }
    this.#length = length - settled;
    this.#tried = 0;
    this.#best.fill(Number.NEGATIVE_INFINITY, this.#length + 1);
  }

  /** Tries every piece that starts before `to`. The word has `length` units. */
  #tryPieces(to: number, length: number): void {
    const { rootChild, scores, unknownScore, unknownNode } = this.#tables;
    const units = this.#units;
    let from = this.#tried;
    while (from < to) {
      const width = isHighSurrogate(units[from] as number) ? 2 : 1;
      const score = this.#best[from] as number;
      let isKnown = false;
      let node = rootChild[units[from] as number] as number;
      for (let end = from + 1; node !== NO_CHILD; end++) {
        const pieceScore = scores[node] as number;
        if (!Number.isNaN(pieceScore)) {
          if (end - from === width) isKnown = true;
          this.#offer(from, end, score + pieceScore, node === unknownNode);
        }
        node = end < length ? this.#child(node, units[end] as number) : NO_CHILD;
      }
      if (!isKnown) this.#offer(from, from + width, score + unknownScore, true);
      from += width;
    }
    this.#tried = from;
  }

  #offer(from: number, to: number, score: number, isUnknown: boolean): void {
    if (!(score > (this.#best[to] as number))) return;
    this.#best[to] = score;
    const isFused = isUnknown && this.#endsUnknown[from] === 1;
    this.#bestTokens[to] = (this.#bestTokens[from] as number) + (isFused ? 0 : 1);
    this.#endsUnknown[to] = isUnknown ? 1 : 0;
  }

  #child(node: number, unit: number): number {
    const { firstChild, nodeUnits, rootChild, wordStartChild } = this.#tables;
    let low = firstChild[node] as number;
    let high = firstChild[node + 1] as number;
    if (high - low > FEW && node === rootChild[WORD_START]) return wordStartChild[unit] as number;
    while (high - low > FEW) {
      const middle = (low + high) >> 1;
      if ((nodeUnits[middle] as number) <= unit) low = middle;
      else high = middle;
    }
    for (; low < high; low++) if (nodeUnits[low] === unit) return low;
    return NO_CHILD;
  }
}
