/**
 * Counts a text that arrives in parts. What is certain is counted and forgotten; kept are only the last, undecided
 * characters. However a text is cut, its count is the same, so a whole text is counted by the same code.
 */
import type { PieceCounter } from "./piece-counter.ts";
import { pieceEnd, plainWordEnd, UNDECIDED } from "./pieces.ts";
import { Run, type RunMark } from "./run.ts";
import { Undecided, type UndecidedMark } from "./undecided.ts";
import { BYTES_PER_UNIT_MAX } from "./utf8.ts";
import { SHORT_MAX } from "./words.ts";

/** Text is taken in steps of this many units. */
export const STEP_UNITS = 2048;
/** An undecided piece of more units than this becomes a run. */
const PIECE_UNITS_MAX = 64;
/** NFC makes at most three bytes out of one. */
const NFC_GROWTH_MAX = 3;

interface StreamMark {
  tokens: number;
  undecided: UndecidedMark;
  run: Run | null;
  runMark: RunMark | null;
}

export class TextStream {
  readonly #counter: PieceCounter;
  readonly #undecided: Undecided;
  readonly #bytesPerUnitMax: number;
  /** The long piece that the undecided characters may continue. */
  #run: Run | null = null;
  /** The tokens of everything that is decided: no text to come makes them fewer. */
  tokensDecided = 0;

  constructor(counter: PieceCounter) {
    this.#counter = counter;
    this.#undecided = new Undecided(counter.tables);
    this.#bytesPerUnitMax = BYTES_PER_UNIT_MAX * (counter.tables.nfc ? NFC_GROWTH_MAX : 1);
  }

  /** Tokens of a long piece so far, for stopping early. More text hardly ever makes them fewer. */
  get runTokens(): number {
    return this.#run?.tokensSettled ?? 0;
  }

  /** The text has no more tokens than this, even if `moreUnits` units follow: a token has at least one byte. */
  tokensMax(moreUnits: number): number {
    const runBytes = this.#run?.byteLength ?? 0;
    return this.tokensDecided + runBytes + (this.#undecided.length + 1 + moreUnits) * this.#bytesPerUnitMax;
  }

  push(text: string): void {
    for (let from = 0; from < text.length; from += STEP_UNITS) {
      this.pushPart(text, from, Math.min(from + STEP_UNITS, text.length));
    }
  }

  /** Takes `text[from..to)`, a step at most. */
  pushPart(text: string, from: number, to: number): void {
    this.#undecided.append(text, from, to);
    this.#decide(false);
  }

  /** The exact count of the text so far. */
  total(): number {
    const mark = this.mark();
    const total = this.end();
    this.rewind(mark);
    return total;
  }

  /** The exact count of the complete text. */
  end(): number {
    this.#undecided.end();
    this.#decide(true);
    return this.tokensDecided;
  }

  /** Forgets everything, to be used for another text. */
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

  /** Counts every piece whose end is certain and drops its characters. */
  #decide(isEnd: boolean): void {
    const { units, normalEnd } = this.#undecided;
    let from = this.#run === null ? 0 : this.#continueRun(this.#run, isEnd);
    while (from < normalEnd && this.#run === null) {
      let end = plainWordEnd(units, from, normalEnd);
      if (end !== UNDECIDED && end - from <= SHORT_MAX) {
        this.tokensDecided += this.#counter.countShort(units, from, end);
      } else {
        end = pieceEnd(this.#counter.tables, units, from, normalEnd, isEnd);
        if (end === UNDECIDED) break;
        this.tokensDecided += this.#counter.count(units, from, end);
      }
      from = end;
    }
    if (normalEnd - from > PIECE_UNITS_MAX) {
      this.#run = new Run(this.#counter);
      from = this.#run.start(units, from, normalEnd);
    }
    this.#undecided.drop(from);
  }

  /** Gives the run what continues it and returns where that ends. */
  #continueRun(run: Run, isEnd: boolean): number {
    const end = run.take(this.#undecided.units, 0, this.#undecided.normalEnd, isEnd);
    if (run.isOver || isEnd) {
      this.tokensDecided += run.count();
      this.#run = null;
    }
    return end;
  }
}
