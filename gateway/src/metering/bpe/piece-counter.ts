/**
 * Counts the tokens of single pieces. Most are words of the vocabulary and cost one look-up; the others are encoded, and
 * the short ones remembered.
 */

import { hashUnits, isSame, PieceCache } from "../piece-cache.ts";
import { Bpe } from "./bpe.ts";
import { type BpeTables, WORD_BITS } from "./tables.ts";
import { BYTES_PER_UNIT_MAX, writeUtf8 } from "./utf8.ts";

const WORD_MASK = (1 << WORD_BITS) - 1;

export class PieceCounter {
  readonly tables: BpeTables;
  readonly bpe: Bpe;
  /** A second encoder, for a question that comes up while the first one's answer is still needed. */
  readonly aside: Bpe;
  readonly #cache = new PieceCache();
  readonly #wordMask: number;
  #bytes = new Uint8Array(1024);

  constructor(tables: BpeTables) {
    this.tables = tables;
    this.bpe = new Bpe(tables);
    this.aside = new Bpe(tables);
    this.#wordMask = (1 << (32 - tables.wordShift)) - 1;
  }

  /** How many tokens the piece `units[from..to)` is. */
  count(units: Uint16Array, from: number, to: number): number {
    const length = to - from;
    if (length === 1 && (units[from] as number) < 0x80) return 1;
    if (length > this.tables.tokenBytesMax) return this.#encode(units, from, to);
    const hash = hashUnits(units, from, to);
    if (this.#isWord(hash, units, from, to)) return 1;
    const known = this.#cache.get(hash, units, from, to);
    if (known !== undefined) return known;
    const count = this.#encode(units, from, to);
    this.#cache.set(hash, units, from, to, count);
    return count;
  }

  #isWord(hash: number, units: Uint16Array, from: number, to: number): boolean {
    const { wordSlots, wordShift, wordStarts, wordUnits } = this.tables;
    for (let slot = hash >>> wordShift; ; slot = (slot + 1) & this.#wordMask) {
      const found = wordSlots[slot] as number;
      if (found === 0) return false;
      if ((found ^ (hash << WORD_BITS)) >>> WORD_BITS !== 0) continue;
      const word = found & WORD_MASK;
      const start = wordStarts[word - 1] as number;
      if ((wordStarts[word] as number) - start !== to - from) continue;
      if (isSame(wordUnits, start, units, from, to)) return true;
    }
  }

  #encode(units: Uint16Array, from: number, to: number): number {
    const bytesMax = (to - from) * BYTES_PER_UNIT_MAX;
    if (bytesMax > this.#bytes.length) this.#bytes = new Uint8Array(bytesMax * 2);
    return this.bpe.count(this.#bytes, 0, writeUtf8(units, from, to, this.#bytes, 0));
  }
}
