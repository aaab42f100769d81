/**
 * Counts a text that arrives in parts. Text whose pieces are certain is counted and dropped; only the last, undecided
 * characters are kept. The count does not depend on how the text is split, so complete texts use this code too.
 */

import { CharacterRun, type CharacterRunSnapshot } from "./character-run.ts";
import type { PieceCounter } from "./piece-counter.ts";
import { findPieceEnd, findPlainWordEnd, PIECE_END_UNKNOWN } from "./split-pieces.ts";
import { TextTail, type UndecidedTextSnapshot } from "./text-tail.ts";
import { BYTES_PER_UNIT_MAX } from "./utf8.ts";
import { SHORT_WORD_CHARS_MAX } from "./word-table.ts";

/** The number of UTF-16 units that are processed per step. */
export const CODE_UNITS_PER_STEP = 2048;
/**
 * The longest piece that is kept until its end is known. A longer one is counted while it grows, as a `CharacterRun`.
 */
const PIECE_UNITS_MAX = 64;
/** NFC turns one byte into at most three. */
const NFC_GROWTH_MAX = 3;

interface StreamMark {
  tokens: number;
  undecided: UndecidedTextSnapshot;
  run: CharacterRun | null;
  runMark: CharacterRunSnapshot | null;
}

export class TextStream {
  readonly #counter: PieceCounter;
  readonly #undecided: TextTail;
  readonly #bytesPerUnitMax: number;
  /** The long piece that the next characters may continue. Null: there is none. */
  #run: CharacterRun | null = null;
  /** The number of tokens of all decided text. Later text does not reduce it. */
  tokensDecided = 0;

  constructor(counter: PieceCounter) {
    this.#counter = counter;
    this.#undecided = new TextTail(counter.tables);
    this.#bytesPerUnitMax = BYTES_PER_UNIT_MAX * (counter.tables.nfc ? NFC_GROWTH_MAX : 1);
  }

  /** The number of tokens of the current long piece so far, for stopping early. More text rarely reduces it. */
  get runTokens(): number {
    return this.#run?.tokensSettled ?? 0;
  }

  /** An upper bound on the tokens of the text after `moreUnits` more units, because a token has at least one byte. */
  tokensMax(moreUnits: number): number {
    const runBytes = this.#run?.byteLength ?? 0;
    return this.tokensDecided + runBytes + (this.#undecided.length + 1 + moreUnits) * this.#bytesPerUnitMax;
  }

  push(text: string): void {
    for (let from = 0; from < text.length; from += CODE_UNITS_PER_STEP) {
      this.pushPart(text, from, Math.min(from + CODE_UNITS_PER_STEP, text.length));
    }
  }

  /** Processes `text[from..to)`, which must be at most `CODE_UNITS_PER_STEP` long. */
  pushPart(text: string, from: number, to: number): void {
    this.#undecided.append(text, from, to);
    this.#decide(false);
  }

  /** Returns the exact count of the text so far, as if it were complete. */
  total(): number {
    const mark = this.mark();
    const total = this.end();
    this.rewind(mark);
    return total;
  }

  /** Returns the exact count of the complete text. */
  end(): number {
    this.#undecided.end();
    this.#decide(true);
    return this.tokensDecided;
  }

  /** Clears the stream, so that it can count another text. */
  reset(): void {
    this.#undecided.reset();
    this.#run = null;
    this.tokensDecided = 0;
  }

  mark(): StreamMark {
    return {
      tokens: this.tokensDecided,
      undecided: this.#undecided.mark(),
      run: this.#run,
      runMark: this.#run?.mark() ?? null,
    };
  }

  /** Goes back to a mark of this stream. */
  rewind(mark: StreamMark): void {
    this.tokensDecided = mark.tokens;
    this.#undecided.rewind(mark.undecided);
    this.#run = mark.run;
    if (mark.runMark !== null) mark.run?.rewind(mark.runMark);
  }

  /** Counts every piece whose end is certain, and drops its characters. */
  #decide(isEnd: boolean): void {
    const { units, normalEnd } = this.#undecided;
    let from = this.#run === null ? 0 : this.#continueRun(this.#run, isEnd);
    while (from < normalEnd && this.#run === null) {
      let end = findPlainWordEnd(units, from, normalEnd);
      if (end !== PIECE_END_UNKNOWN && end - from <= SHORT_WORD_CHARS_MAX) {
        this.tokensDecided += this.#counter.countShort(units, from, end);
      } else {
        end = findPieceEnd(this.#counter.tables, units, from, normalEnd, isEnd);
        if (end === PIECE_END_UNKNOWN) break;
        this.tokensDecided += this.#counter.count(units, from, end);
      }
      from = end;
    }
    if (normalEnd - from > PIECE_UNITS_MAX) {
      this.#run = new CharacterRun(this.#counter);
      from = this.#run.start(units, from, normalEnd);
    }
    this.#undecided.drop(from);
  }

  /** Adds characters to the run. Returns the position at which the run stops. */
  #continueRun(run: CharacterRun, isEnd: boolean): number {
    const end = run.take(this.#undecided.units, 0, this.#undecided.normalEnd, isEnd);
    if (run.isOver || isEnd) {
      this.tokensDecided += run.count();
      this.#run = null;
    }
    return end;
  }
}
