/**
 * A piece that has grown long and is still growing: a run of letters, of other characters with the newlines after them,
 * or of white space. It takes each character once and can be counted at any time.
 *
 * White space is two pieces in the making: all up to the last newline, and what follows it. A further newline adds the
 * second to the first.
 */
import { CLASS_MASK, isLowSurrogate, LETTER, NEWLINE, OTHER, SPACE } from "../classes.ts";
import { LongPiece } from "./long-piece.ts";
import type { PieceCounter } from "./piece-counter.ts";
import { classAt, runEnd } from "./pieces.ts";

export interface RunMark {
  kind: number;
  headBytes: number;
  gapBytes: number;
  spaces: number;
  headSpaces: number;
}

export class Run {
  readonly #counter: PieceCounter;
  /** The class that continues the run: LETTER, OTHER, NEWLINE (after OTHER), or SPACE for any white space. */
  #kind = OTHER;
  /** The piece; of white space, the part up to the last newline. */
  readonly #head: LongPiece;
  /** White space after the last newline. */
  #gap: LongPiece;
  /** All the white space taken, and how much of it is in the head. */
  #spaces = new Uint16Array(0);
  #spacesLength = 0;
  #headSpaces = 0;
  /** Something came that does not continue the run. */
  isOver = false;

  constructor(counter: PieceCounter) {
    this.#counter = counter;
    this.#head = new LongPiece(counter);
    this.#gap = new LongPiece(counter);
  }

  get byteLength(): number {
    return this.#head.length + this.#gap.length;
  }

  get tokensSettled(): number {
    return this.#head.tokensSettled + this.#gap.tokensSettled;
  }

  /** Begins with `units[from..to)`, which is one undecided piece or white space, and returns where it stopped. */
  start(units: Uint16Array, from: number, to: number): number {
    this.#kind = kindOf(this.#counter.tables.classes, units, from, to);
    if (this.#kind === SPACE) return this.take(units, from, to, false);
    this.#head.append(units, from, to);
    return to;
  }

  /**
   * Takes what continues the run from `units[from..to)` and returns where it stopped. The last character of white space
   * may belong to the next piece: it is left where it is, unless it ends the text (`isEnd`).
   */
  take(units: Uint16Array, from: number, to: number, isEnd: boolean): number {
    const { classes } = this.#counter.tables;
    let end: number;
    if (this.#kind === SPACE) {
      end = spaceEnd(classes, units, from, to);
      this.isOver = end < to;
      const isNewline = end > from && classAt(classes, units, end - 1) === NEWLINE;
      if (end > from && !isNewline && (this.isOver || !isEnd)) end--;
      this.#takeSpaces(units, from, end);
      return end;
    }
    end = runEnd(classes, this.#kind, units, from, to);
    if (this.#kind === OTHER && end < to && classAt(classes, units, end) === NEWLINE) {
      this.#kind = NEWLINE;
      end = runEnd(classes, NEWLINE, units, end, to);
    }
    this.isOver = end < to;
    this.#head.append(units, from, end);
    return end;
  }

  count(): number {
    return this.#head.count() + this.#gap.count();
  }

  mark(): RunMark {
    return {
      kind: this.#kind,
      headBytes: this.#head.length,
      gapBytes: this.#gap.length,
      spaces: this.#spacesLength,
      headSpaces: this.#headSpaces,
    };
  }

  rewind(mark: RunMark): void {
    this.#kind = mark.kind;
    this.isOver = false;
    this.#head.truncate(mark.headBytes);
    this.#spacesLength = mark.spaces;
    if (this.#headSpaces === mark.headSpaces) {
      this.#gap.truncate(mark.gapBytes);
    } else {
      this.#headSpaces = mark.headSpaces;
      this.#gap = new LongPiece(this.#counter);
      this.#gap.append(this.#spaces, mark.headSpaces, mark.spaces);
    }
  }

  #takeSpaces(units: Uint16Array, from: number, to: number): void {
    const length = this.#spacesLength + (to - from);
    if (length > this.#spaces.length) {
      const grown = new Uint16Array(length * 2);
      grown.set(this.#spaces.subarray(0, this.#spacesLength));
      this.#spaces = grown;
    }
    this.#spaces.set(units.subarray(from, to), this.#spacesLength);
    this.#spacesLength = length;
    const { classes } = this.#counter.tables;
    let newlineEnd = to;
    while (newlineEnd > from && classAt(classes, units, newlineEnd - 1) !== NEWLINE) newlineEnd--;
    if (newlineEnd > from) {
      const headSpaces = length - (to - newlineEnd);
      this.#head.append(this.#spaces, this.#headSpaces, headSpaces);
      this.#headSpaces = headSpaces;
      this.#gap = new LongPiece(this.#counter);
    }
    this.#gap.append(units, newlineEnd, to);
  }
}

function kindOf(classes: Uint8Array, units: Uint16Array, from: number, to: number): number {
  const last = classAt(classes, units, isLowSurrogate(units[to - 1] as number) ? to - 2 : to - 1);
  if (last === LETTER || last === OTHER) return last;
  // Newlines: after other characters, or white space from the start.
  return spaceEnd(classes, units, from, to) === to ? SPACE : NEWLINE;
}

function spaceEnd(classes: Uint8Array, units: Uint16Array, from: number, to: number): number {
  let at = from;
  while (at < to && ((classes[units[at] as number] as number) & CLASS_MASK) >= SPACE) at++;
  return at;
}
