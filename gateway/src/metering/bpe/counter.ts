/** Counts texts with one byte-level BPE vocabulary. One per thread: it keeps scratch space and a cache. */
import { type AddedTokens, findAddedToken, indexAddedTokens } from "../added-tokens.ts";
import { PieceCounter } from "./piece-counter.ts";
import type { BpeTables } from "./tables.ts";
import { STEP_UNITS, TextStream } from "./text-stream.ts";

/** A long piece is taken to have passed the limit when it did so by this much: its last tokens may still merge. */
const RUN_SLACK_TOKENS = 256;

export class BpeCounter {
  readonly tables: BpeTables;
  readonly #pieces: PieceCounter;
  readonly #added: AddedTokens;
  /** For whole texts, which are counted one at a time. */
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

  /** The tokens of a text that holds no special tokens, whatever it looks like. More than `limit` is only a bound. */
  countPlain(text: string, limit = Number.POSITIVE_INFINITY): number {
    const tokensMin = this.#tokensMin(text.length);
    if (tokensMin > limit) return tokensMin;
    const stream = this.#whole;
    stream.reset();
    for (let from = 0; from < text.length; from += STEP_UNITS) {
      stream.pushPart(text, from, Math.min(from + STEP_UNITS, text.length));
      if (stream.tokensDecided > limit) return stream.tokensDecided;
      if (stream.tokensDecided + stream.runTokens > limit + RUN_SLACK_TOKENS) return limit + 1;
    }
    return stream.end();
  }

  /** A text of so many units has at least so many tokens. NFC may halve the bytes, at the very most. */
  #tokensMin(units: number): number {
    return Math.ceil(units / (this.tables.tokenBytesMax * (this.tables.nfc ? 2 : 1)));
  }

  /** The tokens of a text as the model's own tokenizer reads it: special tokens are found in it. */
  count(text: string, limit = Number.POSITIVE_INFINITY): number {
    let tokens = 0;
    let from = 0;
    for (;;) {
      const found = findAddedToken(this.#added, text, from);
      const end = found?.at ?? text.length;
      if (end > from) {
        tokens += this.countPlain(from === 0 && end === text.length ? text : text.slice(from, end), limit - tokens);
      }
      if (found === undefined || tokens > limit) return tokens;
      tokens++;
      from = found.end;
    }
  }
}
