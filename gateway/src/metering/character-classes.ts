/** The character classes in each tokenizer's tables. */
import { readBytePlanes, sharedUint8 } from "./tokenizer-asset.ts";

/** All code points from here on have class 0. */
export const CLASSIFIED_CODE_POINTS_END = 0x40000;

/** The class of a character (letter, digit, space …) in the pattern that splits text before byte-level BPE: the low three bits of its entry. */
export const OTHER_CLASS = 0;
export const LETTER_CLASS = 1;
export const NUMBER_CLASS = 2;
/** White space other than the two newline characters. */
export const SPACE_CLASS = 3;
export const NEWLINE_CLASS = 4;
export const CLASS_MASK = 7;
/** A bit: NFC may join this character with its predecessor, or move it before. */
export const NFC_JOINS_BIT = 8;
/** A bit: NFC replaces this character even if it is alone. */
export const NFC_CHANGES_BIT = 16;

/** The bits in the unigram tokenizer's table. */
export const WHITESPACE_BIT = 1;
/** The character belongs to the grapheme cluster before it. */
export const GRAPHEME_EXTENDS_BIT = 2;
/** The next character belongs to this character's grapheme cluster. */
export const GRAPHEME_PREPENDS_BIT = 4;
/** The character is always a grapheme cluster of its own. */
export const CONTROL_BIT = 8;

/** The code point at `units[at]`. `units` must be well-formed there. */
export function codePointAt(units: Uint16Array, at: number): number {
  const unit = units[at] as number;
  return (unit & 0xfc00) === 0xd800 ? 0x10000 + ((unit & 0x3ff) << 10) + ((units[at + 1] as number) & 0x3ff) : unit;
}

export const isSurrogate = (unit: number): boolean => (unit & 0xf800) === 0xd800;
export const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
export const isLowSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;

export function readCharacterClasses(section: Uint8Array): Uint8Array {
  const count = section.length / 4;
  const starts = readBytePlanes(section.subarray(0, count * 3), 3);
  const classes = sharedUint8(CLASSIFIED_CODE_POINTS_END);
  for (let i = 0; i < count; i++) {
    classes.fill(section[count * 3 + i] as number, starts[i] as number, starts[i + 1] ?? CLASSIFIED_CODE_POINTS_END);
  }
  return classes;
}
