/**
 * A long piece that still grows: a run of letters, of other characters with the newlines after them, or of white space.
 * Each character is processed once, and the run can be counted at any time.
 *
 * White space may become two pieces: everything up to the last newline, and the rest. A further newline moves the rest
 * into the first piece. So both the whole run and the rest are kept, and neither is built twice.
 */
import {
  CLASS_MASK,
  isLowSurrogate,
  LETTER_CLASS,
  NEWLINE_CLASS,
  OTHER_CLASS,
  SPACE_CLASS,
} from "../character-classes.ts";
import { LongPiece } from "./long-piece.ts";
import type { PieceCounter } from "./piece-counter.ts";
import { findCharacterRunEnd, readCharacterClass } from "./split-pieces.ts";

export interface CharacterRunSnapshot {
  kind: number;
  bytes: number;
  head: Head;
  gap: LongPiece;
  gapBytes: number;
}

/** The part of white space up to its last newline: its end, and the number of its tokens if counted. */
interface Head {
  bytes: number;
  tokens: number | undefined;
}

export class CharacterRun {
  readonly #counter: PieceCounter;
  /**
   * The class of characters that continue the run: LETTER, OTHER, NEWLINE (after OTHER), or SPACE for any white space.
   */
  #kind = OTHER_CLASS;
  /** All characters of the run so far. */
  readonly #whole: LongPiece;
  #head: Head = { bytes: 0, tokens: 0 };
  /** The white space after the last newline. Before the first newline it is the whole run. */
  #gap: LongPiece;
  /** Whether a character came that does not continue the run. */
  isOver = false;

  constructor(counter: PieceCounter) {
    this.#counter = counter;
    this.#whole = new LongPiece(counter);
    this.#gap = this.#whole;
  }

  get byteLength(): number {
    return this.#whole.length;
  }

  get tokensSettled(): number {
    return this.#whole.tokensSettled;
  }

  /**
   * Begins the run with `units[from..to)`, which is either white space or a piece whose end is not known yet. Returns
   * the position up to which it took the characters.
   */
  start(units: Uint16Array, from: number, to: number): number {
    this.#kind = kindOf(this.#counter.tables.classes, units, from, to);
    if (this.#kind === SPACE_CLASS) return this.take(units, from, to, false);
    this.#whole.append(units, from, to);
    return to;
  }

  /**
   * Adds those characters of `units[from..to)` that continue the run. Returns the position at which it stopped. The
   * last white-space character may belong to the next piece, so it is added only if it ends the text (`isEnd`).
   */
  take(units: Uint16Array, from: number, to: number, isEnd: boolean): number {
    const { classes } = this.#counter.tables;
    let end: number;
    if (this.#kind === SPACE_CLASS) {
      end = spaceEnd(classes, units, from, to);
      this.isOver = end < to;
      const isNewline = end > from && readCharacterClass(classes, units, end - 1) === NEWLINE_CLASS;
      if (end > from && !isNewline && (this.isOver || !isEnd)) end--;
      this.#takeSpaces(units, from, end);
      return end;
    }
    end = findCharacterRunEnd(classes, this.#kind, units, from, to);
    if (this.#kind === OTHER_CLASS && end < to && readCharacterClass(classes, units, end) === NEWLINE_CLASS) {
      this.#kind = NEWLINE_CLASS;
      end = findCharacterRunEnd(classes, NEWLINE_CLASS, units, end, to);
    }
    this.isOver = end < to;
    this.#whole.append(units, from, end);
    return end;
  }

  count(): number {
    if (this.#kind !== SPACE_CLASS) return this.#whole.count();
    this.#head.tokens ??= this.#whole.countTo(this.#head.bytes);
    return this.#head.tokens + this.#gap.count();
  }

  mark(): CharacterRunSnapshot {
    return {
      kind: this.#kind,
      bytes: this.#whole.length,
      head: this.#head,
      gap: this.#gap,
      gapBytes: this.#gap.length,
    };
  }

  rewind(mark: CharacterRunSnapshot): void {
    this.#kind = mark.kind;
    this.isOver = false;
    this.#whole.truncate(mark.bytes);
    this.#head = mark.head;
    this.#gap = mark.gap;
    this.#gap.truncate(mark.gapBytes);
  }

  #takeSpaces(units: Uint16Array, from: number, to: number): void {
    const { classes } = this.#counter.tables;
    let newlineEnd = to;
    while (newlineEnd > from && readCharacterClass(classes, units, newlineEnd - 1) !== NEWLINE_CLASS) newlineEnd--;
    if (newlineEnd > from) {
      this.#whole.append(units, from, newlineEnd);
      this.#head = { bytes: this.#whole.length, tokens: undefined };
      this.#gap = new LongPiece(this.#counter);
    }
    this.#whole.append(units, newlineEnd, to);
    if (this.#gap !== this.#whole) this.#gap.append(units, newlineEnd, to);
  }
}

function kindOf(classes: Uint8Array, units: Uint16Array, from: number, to: number): number {
  const last = readCharacterClass(classes, units, isLowSurrogate(units[to - 1] as number) ? to - 2 : to - 1);
  if (last === LETTER_CLASS || last === OTHER_CLASS) return last;
  // The last character is white space. If the whole run is, any white space continues it. Otherwise the run ends with
  // newlines after other characters, and only newlines continue it.
  return spaceEnd(classes, units, from, to) === to ? SPACE_CLASS : NEWLINE_CLASS;
}

function spaceEnd(classes: Uint8Array, units: Uint16Array, from: number, to: number): number {
  let at = from;
  while (at < to && ((classes[units[at] as number] as number) & CLASS_MASK) >= SPACE_CLASS) at++;
  return at;
}
