/**
 * The last characters of a text that is still coming in: well-formed whatever came, and in Unicode's form NFC where the
 * tokenizer wants that.
 */
import { CHANGES, CLASSES_END, codePointAt, isHighSurrogate, isLowSurrogate, JOINS } from "../classes.ts";
import { widthAt } from "./pieces.ts";

const REPLACEMENT = 0xfffd;
const UNITS_MIN = 64;
const NONE = new Uint16Array(0);
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

  #reserve(more: number): void {
    if (this.length + more <= this.units.length) return;
    const grown = new Uint16Array(Math.max(UNITS_MIN, (this.length + more) * 2));
    grown.set(this.units.subarray(0, this.length));
    this.units = grown;
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
