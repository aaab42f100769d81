/**
 * The last characters of a text that is still coming in: well-formed whatever came, and in Unicode's form NFC where the
 * tokenizer wants that.
 */
import { CHANGES, CLASSES_END, codePointAt, isHighSurrogate, isLowSurrogate, isSurrogate, JOINS } from "../classes.ts";
import { widthAt } from "./pieces.ts";
import { SHORT_MAX } from "./words.ts";

const REPLACEMENT = 0xfffd;
/** NFC leaves all characters before this one alone: those with an accent are one character already. */
const FIRST_JOINING = 0x300;
const UNITS_MIN = 64;
const NONE = new Uint16Array(0);
const NO_BYTES = Buffer.alloc(0);
/** From so many units on it is quicker to have a text copied than to ask for one after another. */
const COPIED_MIN = 48;
/**
 * NFC sorts all the combining characters on one base. More than this many in a row are normalised in lots of this many:
 * no writing has them, and sorting takes time that grows with their square.
 */
const JOINED_MAX = 128;

export interface UndecidedMark {
  units: Uint16Array;
  normalEnd: number;
  high: number;
}

export class Undecided {
  readonly #classes: Uint8Array;
  readonly #nfc: boolean;
  /** Made when the first text comes: many streams never see any. */
  units: Uint16Array = NONE;
  /** The same memory. */
  #bytes = NO_BYTES;
  length = 0;
  /** Up to here the text will not change, whatever follows. */
  normalEnd = 0;
  /** The first half of a character whose second half has not come yet, or 0. */
  #high = 0;

  constructor({ classes, nfc }: { classes: Uint8Array; nfc: boolean }) {
    this.#classes = classes;
    this.#nfc = nfc;
  }

  /** Appends `text[from..to)`. Half a character alone becomes U+FFFD. */
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

  /** Where no character stands for half a one, or is changed by what is before it, there is nothing to look at one by one. */
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
    // What comes next may join the last one.
    this.normalEnd = this.#nfc ? Math.max(this.normalEnd, end - 1) : end;
    return true;
  }

  #isPlain(unit: number): boolean {
    if (isSurrogate(unit)) return false;
    return !this.#nfc || ((this.#classes[unit] as number) & (JOINS | CHANGES)) === 0;
  }

  /** Nothing more will come. */
  end(): void {
    if (this.#high !== 0) {
      this.#reserve(1);
      this.units[this.length++] = REPLACEMENT;
      this.#high = 0;
    }
    this.#normalise(true);
  }

  /** Drops the first `count` units. */
  drop(count: number): void {
    if (count === 0) return;
    this.units.copyWithin(0, count, this.length);
    this.length -= count;
    this.normalEnd -= count;
  }

  /** Forgets everything, to be used for another text. */
  reset(): void {
    this.length = 0;
    this.normalEnd = 0;
    this.#high = 0;
  }

  mark(): UndecidedMark {
    return { units: this.units.slice(0, this.length), normalEnd: this.normalEnd, high: this.#high };
  }

  rewind(mark: UndecidedMark): void {
    this.units.set(mark.units);
    this.length = mark.units.length;
    this.normalEnd = mark.normalEnd;
    this.#high = mark.high;
  }

  /** With so much beyond that a short word can be read without looking where the text ends. */
  #reserve(more: number): void {
    const needed = this.length + more + SHORT_MAX;
    if (needed <= this.units.length) return;
    const grown = new Uint16Array(Math.max(UNITS_MIN, needed * 2));
    grown.set(this.units.subarray(0, this.length));
    this.units = grown;
    this.#bytes = Buffer.from(grown.buffer);
  }

  /**
   * Brings the text to NFC up to the last character that does not join the one before it: what follows that may still
   * change it.
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
    for (let at = start; at < this.length; at += widthAt(this.units, at)) {
      const codePoint = codePointAt(this.units, at);
      const flags = codePoint < CLASSES_END ? (this.#classes[codePoint] as number) : 0;
      if (joined === JOINED_MAX) {
        if (!isNormal) at = this.#rewrite(start, at);
        start = at;
        isNormal = true;
      }
      if (joined === JOINED_MAX || (flags & JOINS) === 0) {
        cut = at;
        isNormalToCut = isNormal;
        joined = 0;
      } else if (at > cut) {
        joined++;
      }
      if ((flags & (JOINS | CHANGES)) !== 0) isNormal = false;
    }
    if (isEnd) {
      cut = this.length;
      isNormalToCut = isNormal;
    }
    this.normalEnd = isNormalToCut ? cut : this.#rewrite(start, cut);
  }

  /** Puts the normal form of `units[from..to)` in its place and returns where that ends. */
  #rewrite(from: number, to: number): number {
    const text = String.fromCharCode(...this.units.subarray(from, to)).normalize("NFC");
    this.#reserve(text.length);
    this.units.copyWithin(from + text.length, to, this.length);
    this.length += text.length - (to - from);
    for (let i = 0; i < text.length; i++) this.units[from + i] = text.charCodeAt(i);
    return from + text.length;
  }
}
