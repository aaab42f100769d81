/**
 * Cuts text into the pieces that are encoded one by one. The vocabularies of Llama 3 and Qwen 2.5 use one pattern, with
 * different values of `digits`, the maximum number of digits in a piece:
 *
 *   (?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}{1,digits} |
 *   ␠?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
 *
 * It is scanned by hand: V8's regular expressions overflow the stack on long runs of letters.
 */
import {
  CLASS_MASK,
  CLASSIFIED_CODE_POINTS_END,
  codePointAt,
  isSurrogate,
  LETTER_CLASS,
  NEWLINE_CLASS,
  NUMBER_CLASS,
  OTHER_CLASS,
  SPACE_CLASS,
} from "../character-classes.ts";

/** The end of the piece is not certain yet. */
export const PIECE_END_UNKNOWN = -1;

const APOSTROPHE = 0x27;
const BLANK = 0x20;
const LONG_S = 0x17f;

interface PieceRules {
  classes: Uint8Array;
  digitsMax: number;
}

export function readCharacterClass(classes: Uint8Array, units: Uint16Array, at: number): number {
  const unit = units[at] as number;
  if (!isSurrogate(unit)) return (classes[unit] as number) & CLASS_MASK;
  const codePoint = codePointAt(units, at);
  return codePoint < CLASSIFIED_CODE_POINTS_END ? (classes[codePoint] as number) & CLASS_MASK : OTHER_CLASS;
}

/** The number of UTF-16 units (1 or 2) of the character at `at`. */
export const countCharacterUnits = (units: Uint16Array, at: number): number =>
  (units[at] as number) >> 10 === 0x36 ? 2 : 1;

/**
 * Returns the end of the piece that starts at `from`. `units[..to)` must be well-formed. Unless the text ends at `to`
 * (`isEnd`), returns UNDECIDED for a piece or white space that reaches `to`, because more may follow.
 */
export function findPieceEnd(rules: PieceRules, units: Uint16Array, from: number, to: number, isEnd: boolean): number {
  const { classes } = rules;
  if (units[from] === APOSTROPHE) {
    const end = contractionEnd(units, from, to);
    if (end !== PIECE_END_UNKNOWN) return end;
  }
  const kind = readCharacterClass(classes, units, from);
  const second = from + countCharacterUnits(units, from);
  const secondKind = second < to ? readCharacterClass(classes, units, second) : PIECE_END_UNKNOWN;
  let end: number;
  if (kind === LETTER_CLASS || (secondKind === LETTER_CLASS && (kind === OTHER_CLASS || kind === SPACE_CLASS))) {
    end = findCharacterRunEnd(classes, LETTER_CLASS, units, second, to);
  } else if (kind === NUMBER_CLASS) {
    end = numberEnd(rules, units, second, to);
  } else if (kind === OTHER_CLASS || (units[from] === BLANK && secondKind === OTHER_CLASS)) {
    end = findCharacterRunEnd(
      classes,
      NEWLINE_CLASS,
      units,
      findCharacterRunEnd(classes, OTHER_CLASS, units, second, to),
      to,
    );
  } else {
    return spaceEnd(classes, units, from, to, isEnd);
  }
  return end === to && !isEnd ? PIECE_END_UNKNOWN : end;
}

/**
 * A fast path for the most common pieces: ASCII letters with or without a leading space, followed by ASCII. Returns
 * UNDECIDED for others.
 */
export function findPlainWordEnd(units: Uint16Array, from: number, to: number): number {
  const start = units[from] === BLANK ? from + 1 : from;
  let at = start;
  while (at < to && isAsciiLetter(units[at] as number)) at++;
  return at > start && at < to && (units[at] as number) < 0x80 ? at : PIECE_END_UNKNOWN;
}

const isAsciiLetter = (unit: number): boolean => ((unit | 0x20) - 0x61) >>> 0 < 26;

/** Returns the end of the run of characters of one class that starts at `from`. */
export function findCharacterRunEnd(
  classes: Uint8Array,
  kind: number,
  units: Uint16Array,
  from: number,
  to: number,
): number {
  let at = from;
  while (at < to) {
    const unit = units[at] as number;
    const isWide = isSurrogate(unit);
    const found = isWide ? readCharacterClass(classes, units, at) : (classes[unit] as number) & CLASS_MASK;
    if (found !== kind) break;
    at += isWide ? 2 : 1;
  }
  return at;
}

function contractionEnd(units: Uint16Array, from: number, to: number): number {
  if (from + 1 >= to) return PIECE_END_UNKNOWN;
  const first = units[from + 1] as number;
  switch (first | 0x20) {
    case 0x73: // s: the contraction 's
    case 0x74: // t: the contraction 't
    case 0x6d: // m: the contraction 'm
    case 0x64: // d: the contraction 'd
      return from + 2;
  }
  // Case folding maps the long s (U+017F) to s.
  if (first === LONG_S) return from + 2;
  if (from + 2 >= to) return PIECE_END_UNKNOWN;
  const pair = ((first | 0x20) << 16) | ((units[from + 2] as number) | 0x20);
  return pair === 0x720065 || pair === 0x760065 || pair === 0x6c006c ? from + 3 : PIECE_END_UNKNOWN; // 're, 've, 'll
}

function numberEnd({ classes, digitsMax }: PieceRules, units: Uint16Array, from: number, to: number): number {
  let at = from;
  for (
    let digits = 1;
    digits < digitsMax && at < to && readCharacterClass(classes, units, at) === NUMBER_CLASS;
    digits++
  ) {
    at += countCharacterUnits(units, at);
  }
  return at;
}

/**
 * White space ends after its last newline. Without a newline it ends before its last character, which belongs to the
 * next piece.
 */
function spaceEnd(classes: Uint8Array, units: Uint16Array, from: number, to: number, isEnd: boolean): number {
  let at = from;
  let newlineEnd = from;
  for (; at < to; at++) {
    const kind = (classes[units[at] as number] as number) & CLASS_MASK;
    if (kind < SPACE_CLASS) break;
    if (kind === NEWLINE_CLASS) newlineEnd = at + 1;
  }
  if (at === to && !isEnd) return PIECE_END_UNKNOWN;
  if (newlineEnd > from) return newlineEnd;
  return at === to || at === from + 1 ? at : at - 1;
}
