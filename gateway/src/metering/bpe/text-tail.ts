/**
 * The last characters of a text that arrives in parts. They are always well-formed, and in Unicode's form NFC if the
 * tokenizer requires it.
 */
import {
  CLASSIFIED_CODE_POINTS_END,
  codePointAt,
  isHighSurrogate,
  isLowSurrogate,
  isSurrogate,
  NFC_CHANGES_BIT,
  NFC_JOINS_BIT,
} from "../character-classes.ts";
import { countCharacterUnits } from "./split-pieces.ts";
import { SHORT_WORD_CHARS_MAX } from "./word-table.ts";

const REPLACEMENT = 0xfffd;
/** The first character that NFC may join with a predecessor or move. */
const FIRST_JOINING = 0x300;
const UNITS_MIN = 64;
const NONE = new Uint16Array(0);
const NO_BYTES = Buffer.alloc(0);
/** The length from which copying a text at once is faster than reading it unit by unit. */
const COPIED_MIN = 48;
/**
 * The most combining characters that are normalized as one block. NFC sorts them in quadratic time, and no writing
 * system has longer runs.
 */
const JOINED_MAX = 128;

export interface UndecidedTextSnapshot {
  units: Uint16Array;
  normalEnd: number;
  high: number;
}

export class TextTail {
  readonly #classes: Uint8Array;
  readonly #nfc: boolean;
  /** Allocated when the first text arrives, because many streams get none. */
  units: Uint16Array = NONE;
  /** The memory of `units`, as bytes. */
  #bytes = NO_BYTES;
  length = 0;
  /** The position in `units` before which further text can change nothing. */
  normalEnd = 0;
  /** A high surrogate that waits for its low surrogate. 0: none. */
  #high = 0;

  constructor({ classes, nfc }: { classes: Uint8Array; nfc: boolean }) {
    this.#classes = classes;
    this.#nfc = nfc;
  }

  /** Appends `text[from..to)`. Replaces lone surrogates by U+FFFD. */
  append(text: string, from: number, to: number): void {
    this.#reserve(to - from + 1);
    if (this.#appendPlain(text, from, to)) return;
    const { units } = this;
    let { length } = this;
    let high = this.#high;
    for (let i = from; i < to; i++) {
      const unit = text.charCodeAt(i);
      if (high !== 0) {
        units[length++] = isLowSurrogate(unit) ? high : REPLACEMENT;
        high = 0;
        if (isLowSurrogate(unit)) {
          units[length++] = unit;
          continue;
        }
      }
      if (isHighSurrogate(unit)) high = unit;
      else units[length++] = isLowSurrogate(unit) ? REPLACEMENT : unit;
    }
    this.length = length;
    this.#high = high;
    this.#normalise(false);
  }

  /** Copies a text at once if it has no surrogates or combining characters. Returns false for other texts. */
  #appendPlain(text: string, from: number, to: number): boolean {
    if (this.#high !== 0) return false;
    const { units, length } = this;
    const end = length + to - from;
    if (to - from < COPIED_MIN) {
      for (let at = length, i = from; i < to; at++, i++) units[at] = text.charCodeAt(i);
    } else {
      this.#bytes.write(text.slice(from, to), length * 2, "utf16le");
    }
    for (let at = this.normalEnd; at < end; at++) {
      const unit = units[at] as number;
      if (unit >= FIRST_JOINING && !this.#isPlain(unit)) return false;
    }
    this.length = end;
    // The last character is not final, because the next one may combine with it.
    this.normalEnd = this.#nfc ? Math.max(this.normalEnd, end - 1) : end;
    return true;
  }

  #isPlain(unit: number): boolean {
    if (isSurrogate(unit)) return false;
    return !this.#nfc || ((this.#classes[unit] as number) & (NFC_JOINS_BIT | NFC_CHANGES_BIT)) === 0;
  }

  /** Called when the text is complete. */
  end(): void {
    if (this.#high !== 0) {
      this.#reserve(1);
      this.units[this.length++] = REPLACEMENT;
      this.#high = 0;
    }
    this.#normalise(true);
  }

  /** Removes the first `count` units. */
  drop(count: number): void {
    if (count === 0) return;
    this.units.copyWithin(0, count, this.length);
    this.length -= count;
    this.normalEnd -= count;
  }

  /** Clears everything, so that another text can be read. */
  reset(): void {
    this.length = 0;
    this.normalEnd = 0;
    this.#high = 0;
  }

  mark(): UndecidedTextSnapshot {
    return { units: this.units.slice(0, this.length), normalEnd: this.normalEnd, high: this.#high };
  }

  rewind(mark: UndecidedTextSnapshot): void {
    this.units.set(mark.units);
    this.length = mark.units.length;
    this.normalEnd = mark.normalEnd;
    this.#high = mark.high;
  }

  /** Reserves some units more, so that reading a short word needs no check for the end. */
  #reserve(more: number): void {
    const needed = this.length + more + SHORT_WORD_CHARS_MAX;
    if (needed <= this.units.length) return;
    const grown = new Uint16Array(Math.max(UNITS_MIN, needed * 2));
    grown.set(this.units.subarray(0, this.length));
    this.units = grown;
    this.#bytes = Buffer.from(grown.buffer);
  }

  /**
   * Normalizes the text up to the last character that does not combine with its predecessor. Later text may still
   * change the rest.
   */
  #normalise(isEnd: boolean): void {
    if (!this.#nfc) {
      this.normalEnd = this.length;
      return;
    }
    let start = this.normalEnd;
    let cut = start;
    let joined = 0;
    let isNormal = true;
    let isNormalToCut = true;
    for (let at = start; at < this.length; at += countCharacterUnits(this.units, at)) {
      const codePoint = codePointAt(this.units, at);
      const flags = codePoint < CLASSIFIED_CODE_POINTS_END ? (this.#classes[codePoint] as number) : 0;
      if (joined === JOINED_MAX) {
        if (!isNormal) at = this.#rewrite(start, at);
        start = at;
        isNormal = true;
      }
      if (joined === JOINED_MAX || (flags & NFC_JOINS_BIT) === 0) {
        cut = at;
        isNormalToCut = isNormal;
        joined = 0;
      } else if (at > cut) {
        joined++;
      }
      if ((flags & (NFC_JOINS_BIT | NFC_CHANGES_BIT)) !== 0) isNormal = false;
    }
    if (isEnd) {
      cut = this.length;
      isNormalToCut = isNormal;
    }
    this.normalEnd = isNormalToCut ? cut : this.#rewrite(start, cut);
  }

  /** Replaces the text in `units[from..to)` with its Unicode normal form (NFC). Returns the new end. */
  #rewrite(from: number, to: number): number {
    const text = String.fromCharCode(...this.units.subarray(from, to)).normalize("NFC");
    this.#reserve(text.length);
    this.units.copyWithin(from + text.length, to, this.length);
    this.length += text.length - (to - from);
    for (let i = 0; i < text.length; i++) this.units[from + i] = text.charCodeAt(i);
    return from + text.length;
  }
}
