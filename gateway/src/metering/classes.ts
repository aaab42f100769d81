/** The character classes in each tokenizer's tables. */
import { readPlanes, sharedUint8 } from "./asset.ts";

/** All code points from here on have class 0. */
export const CLASSES_END = 0x40000;

/** The classes of the byte-level BPE pattern, in the low three bits. */
export const OTHER = 0;
export const LETTER = 1;
export const NUMBER = 2;
/** White space other than the two newline characters. */
export const SPACE = 3;
export const NEWLINE = 4;
export const CLASS_MASK = 7;
/** A bit: NFC may join this character with its predecessor, or move it before. */
export const JOINS = 8;
/** A bit: NFC replaces this character even if it is alone. */
export const CHANGES = 16;

/** The bits in the unigram tokenizer's table. */
export const WHITESPACE = 1;
/** The character belongs to the grapheme cluster before it. */
export const EXTENDS = 2;
/** The next character belongs to this character's grapheme cluster. */
export const PREPENDS = 4;
/** The character is always a grapheme cluster of its own. */
export const CONTROL = 8;

/** The code point at `units[at]`. `units` must be well-formed there. */
export function codePointAt(units: Uint16Array, at: number): number {
  const unit = units[at] as number;
  return (unit & 0xfc00) === 0xd800 ? 0x10000 + ((unit & 0x3ff) << 10) + ((units[at + 1] as number) & 0x3ff) : unit;
}

export const isSurrogate = (unit: number): boolean => (unit & 0xf800) === 0xd800;
export const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
export const isLowSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;

export function readClasses(section: Uint8Array): Uint8Array {
  const count = section.length / 4;
  const starts = readPlanes(section.subarray(0, count * 3), 3);
  const classes = sharedUint8(CLASSES_END);
  for (let i = 0; i < count; i++) {
    classes.fill(section[count * 3 + i] as number, starts[i] as number, starts[i + 1] ?? CLASSES_END);
  }
  return classes;
}
