/**
 * Unicode properties for tokenizers, taken from the running Node and stored in each asset, so that an update of Node
 * cannot change counts.
 */
import {
  CLASSIFIED_CODE_POINTS_END,
  CONTROL_BIT,
  GRAPHEME_EXTENDS_BIT,
  GRAPHEME_PREPENDS_BIT,
  LETTER_CLASS,
  NEWLINE_CLASS,
  NFC_CHANGES_BIT,
  NFC_JOINS_BIT,
  NUMBER_CLASS,
  OTHER_CLASS,
  SPACE_CLASS,
  WHITESPACE_BIT,
} from "../../src/metering/character-classes.ts";
import { splitBytePlanes } from "./write-asset.ts";

const CODE_POINTS_END = 0x110000;
const isSurrogate = (codePoint: number): boolean => codePoint >= 0xd800 && codePoint < 0xe000;
const firstOf = (text: string): number => text.codePointAt(0) ?? 0;

/** Encodes runs of equal values: the first code point of each run (3 bytes), then all values (1 byte each). */
function ranges(classOf: (codePoint: number) => number): Uint8Array {
  const starts: number[] = [];
  const values: number[] = [];
  for (let codePoint = 0; codePoint < CODE_POINTS_END; codePoint++) {
    const value = isSurrogate(codePoint) ? 0 : classOf(codePoint);
    if (codePoint >= CLASSIFIED_CODE_POINTS_END && value !== 0)
      throw new Error(`U+${codePoint.toString(16)} lies outside the table`);
    if (codePoint < CLASSIFIED_CODE_POINTS_END && value !== values.at(-1)) {
      starts.push(codePoint);
      values.push(value);
    }
  }
  return Buffer.concat([splitBytePlanes(starts, 3), Uint8Array.from(values)]);
}

/** Character data for byte-level BPE: the class of each character, and how NFC normalization may change it. */
export function computePieceClasses(): Uint8Array {
  const joins = joiners();
  return ranges((codePoint) => {
    const char = String.fromCodePoint(codePoint);
    const changes = char.normalize("NFC") !== char;
    return pieceClass(char) | (joins(char) ? NFC_JOINS_BIT : 0) | (changes ? NFC_CHANGES_BIT : 0);
  });
}

function pieceClass(char: string): number {
  if (char === "\n" || char === "\r") return NEWLINE_CLASS;
  if (/\p{White_Space}/u.test(char)) return SPACE_CLASS;
  if (/\p{L}/u.test(char)) return LETTER_CLASS;
  return /\p{N}/u.test(char) ? NUMBER_CLASS : OTHER_CLASS;
}

/**
 * Finds characters before which text must not be split for normalization: those with a non-zero combining class, and
 * second halves of a composition.
 */
function joiners(): (char: string) => boolean {
  const seconds = new Set<number>();
  for (let jamo = 0x1161; jamo <= 0x1175; jamo++) seconds.add(jamo);
  for (let jamo = 0x11a8; jamo <= 0x11c2; jamo++) seconds.add(jamo);
  for (let codePoint = 0; codePoint < CODE_POINTS_END; codePoint++) {
    if (isSurrogate(codePoint)) continue;
    const char = String.fromCodePoint(codePoint);
    const parts = [...char.normalize("NFD")];
    if (parts.length > 1 && char.normalize("NFC") === char) seconds.add(firstOf(parts.at(-1) ?? ""));
  }
  // U+0345 has the highest combining class, so normalization moves every other combining character before it.
  const iota = "\u0345";
  return (char) => {
    const first = [...char.normalize("NFD")][0] ?? "";
    return first === iota || (iota + first).normalize("NFD") !== iota + first || seconds.has(firstOf(first));
  };
}

/** Character data for the unigram tokenizer: white space, and the boundaries of grapheme clusters. */
export function computeGraphemeClasses(): Uint8Array {
  const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
  const together = (text: string): boolean => segmenter.segment(text).containing(0)?.segment === text;
  return ranges((codePoint) => {
    if (codePoint >= CLASSIFIED_CODE_POINTS_END) return 0;
    const char = String.fromCodePoint(codePoint);
    return (
      (/\p{White_Space}/u.test(char) ? WHITESPACE_BIT : 0) |
      (together(`a${char}`) ? GRAPHEME_EXTENDS_BIT : 0) |
      (together(`${char}a`) ? GRAPHEME_PREPENDS_BIT : 0) |
      (together(`${char}\u0301`) ? 0 : CONTROL_BIT)
    );
  });
}
