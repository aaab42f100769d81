/**
 * Counts texts with one byte-level BPE vocabulary. Each thread has its own, because it contains working memory and a
 * cache.
 */
import { type AddedTokens, findAddedToken, indexAddedTokens } from "../added-tokens.ts";
import { CACHED_TEXT_CODE_UNITS_MIN, CachedCounts, findBlockEnd } from "../cached-token-counts.ts";
import { PieceCounter } from "./piece-counter.ts";
import type { BpeTables } from "./tables.ts";
import { CODE_UNITS_PER_STEP, TextStream } from "./text-stream.ts";

/** Counting stops only when a long piece exceeds the limit by this margin: its last tokens may still merge. */
const RUN_SLACK_TOKENS = 256;

export class BpeCounter {
  readonly tables: BpeTables;
  readonly #pieces: PieceCounter;
  readonly #added: AddedTokens;
  readonly known = new CachedCounts();
  /** For complete texts, one after another. */
  readonly #whole: TextStream;

  constructor(tables: BpeTables) {
    this.tables = tables;
    this.#pieces = new PieceCounter(tables);
    this.#added = indexAddedTokens(tables.addedTokens);
    this.#whole = new TextStream(this.#pieces);
  }

  openStream(): TextStream {
    return new TextStream(this.#pieces);
  }

  /**
   * Returns the number of tokens. Treats special tokens as plain text. A result above `limit` is only a lower bound.
   */
  countPlain(text: string, limit = Number.POSITIVE_INFINITY, payer?: string): number {
    const tokensMin = this.#tokensMin(text.length);
    if (tokensMin > limit) return tokensMin;
    return payer === undefined || text.length < CACHED_TEXT_CODE_UNITS_MIN
      ? this.#countNew(text, limit)
      : this.#countKnown(text, limit, payer);
  }

  /** Counts only those parts of the text that the payer has not sent before. */
  #countKnown(text: string, limit: number, payer: string): number {
    let tokens = 0;
    for (let from = 0; from < text.length && tokens <= limit; ) {
      const to = findBlockEnd(text, from);
      const block = from === 0 && to === text.length ? text : text.slice(from, to);
      const key = this.known.keyOf(payer, block);
      let count = this.known.get(key);
      if (count === undefined) {
        count = this.#countNew(block, limit - tokens);
        // A count over the limit is only a lower bound, so it is not cached.
        if (tokens + count <= limit) this.known.set(key, count);
      }
      tokens += count;
      from = to;
    }
    return tokens;
  }

  #countNew(text: string, limit: number): number {
    const stream = this.#whole;
    stream.reset();
    for (let from = 0; from < text.length; from += CODE_UNITS_PER_STEP) {
      stream.pushPart(text, from, Math.min(from + CODE_UNITS_PER_STEP, text.length));
      if (stream.tokensDecided > limit) return stream.tokensDecided;
      if (stream.tokensDecided + stream.runTokens > limit + RUN_SLACK_TOKENS) return limit + 1;
    }
    return stream.end();
  }

  /**
   * A lower bound on the tokens of a text with this many UTF-16 units. The text has at least as many bytes. If the
   * tokenizer normalizes to NFC, half of them may remain.
   */
  #tokensMin(units: number): number {
    return Math.ceil(units / (this.tables.tokenBytesMax * (this.tables.nfc ? 2 : 1)));
  }

  /**
   * Returns the number of tokens as the model's tokenizer reads the text, including special tokens. `payer`: the
   * account whose cached counts are used. Counting stops above `limit`.
   */
  count(text: string, limit = Number.POSITIVE_INFINITY, payer?: string): number {
    let tokens = 0;
    let from = 0;
    for (;;) {
      const found = findAddedToken(this.#added, text, from);
      const end = found?.at ?? text.length;
      if (end > from) {
        const plain = from === 0 && end === text.length ? text : text.slice(from, end);
        tokens += this.countPlain(plain, limit - tokens, payer);
      }
      if (found === undefined || tokens > limit) return tokens;
      tokens++;
      from = found.end;
    }
  }
}
