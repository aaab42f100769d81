/**
 * Counts the tokens of single pieces of text. Most pieces are words of the vocabulary and need one lookup. Others are
 * encoded, and the counts of short ones are cached.
 */

import { hashUnits, PieceCache } from "../piece-cache.ts";
import { PieceTokenCounter } from "./count-piece-tokens.ts";
import type { BpeTables } from "./tables.ts";
import { BYTES_PER_UNIT_MAX, writeUtf8 } from "./utf8.ts";
import { isLongWord, isShortText, isShortWord } from "./word-table.ts";

export class PieceCounter {
  readonly tables: BpeTables;
  readonly bpe: PieceTokenCounter;
  /** A second encoder, for use while the result of the first one is still needed. */
  readonly aside: PieceTokenCounter;
  readonly #cache = new PieceCache();
  #bytes = new Uint8Array(1024);

  constructor(tables: BpeTables) {
    this.tables = tables;
    this.bpe = new PieceTokenCounter(tables);
    this.aside = new PieceTokenCounter(tables);
  }

  /** Returns the number of tokens in the piece `units[from..to)`. */
  count(units: Uint16Array, from: number, to: number): number {
    const length = to - from;
    if (length === 1 && (units[from] as number) < 0x80) return 1;
    if (length > this.tables.tokenBytesMax) return this.#encode(units, from, to);
    if (isShortText(units, from, to)) return this.countShort(units, from, to);
    const hash = hashUnits(units, from, to);
    return isLongWord(this.tables.words, hash, units, from, to) ? 1 : this.#countRemembered(hash, units, from, to);
  }

  /** Counts like `count`, for a piece that is known to be short (`isShortText`). */
  countShort(units: Uint16Array, from: number, to: number): number {
    if (isShortWord(this.tables.words, units, from, to)) return 1;
    return this.#countRemembered(hashUnits(units, from, to), units, from, to);
  }

  #countRemembered(hash: number, units: Uint16Array, from: number, to: number): number {
    const known = this.#cache.get(hash, units, from, to);
    if (known !== undefined) return known;
    const count = this.#encode(units, from, to);
    this.#cache.set(hash, units, from, to, count);
    return count;
  }

  #encode(units: Uint16Array, from: number, to: number): number {
    const bytesMax = (to - from) * BYTES_PER_UNIT_MAX;
    if (bytesMax > this.#bytes.length) this.#bytes = new Uint8Array(bytesMax * 2);
    return this.bpe.count(this.#bytes, 0, writeUtf8(units, from, to, this.#bytes, 0));
  }
}
