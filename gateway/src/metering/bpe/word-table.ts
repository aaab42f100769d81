/**
 * Looks up whether a text is a single token. Most such words are short. A short word is stored in its slot of the hash
 * table, so that a lookup reads one place in memory. Longer words need the slot, the position and the text.
 */

import { hashUnits, startsWithUnits } from "../piece-cache.ts";
import { readBytePlanes16, sharedInt32, sharedUint16, type TokenizerAsset } from "../tokenizer-asset.ts";

export interface WordTable {
  /**
   * A hash table with open addressing. The two numbers of a slot are the word itself, or zeros if the slot is empty.
   */
  shortSlots: Int32Array;
  /** The shift that turns a hash into a slot's index. */
  shortShift: number;
  /** The texts of the longer words, one after another. `longStarts`: the start of each. */
  longUnits: Uint16Array;
  longStarts: Int32Array;
  /**
   * A hash table with open addressing. A slot has 14 bits of the hash, and the word's index plus one in INDEX_BITS, or
   * 0 if it is empty.
   */
  longSlots: Int32Array;
  longShift: number;
}

/**
 * The most ASCII characters of a short word. Each of its two numbers has four characters of seven bits, and the first
 * has the length above them.
 */
export const SHORT_WORD_CHARS_MAX = 8;
const LENGTH_SHIFT = 28;
/** For each length of a short word, the bits of its two numbers (low and high) that hold its characters. */
const LOW_MASKS = Int32Array.from(
  { length: SHORT_WORD_CHARS_MAX + 1 },
  (_, length) => (1 << (7 * Math.min(length, 4))) - 1,
);
const HIGH_MASKS = Int32Array.from(
  { length: SHORT_WORD_CHARS_MAX + 1 },
  (_, length) => (1 << (7 * Math.max(length - 4, 0))) - 1,
);
const INDEX_BITS = 18;
const INDEX_MASK = (1 << INDEX_BITS) - 1;

/** Whether `units[from..to)` is short and only ASCII. */
export function isShortText(units: Uint16Array, from: number, to: number): boolean {
  if (to - from > SHORT_WORD_CHARS_MAX || (units[from] as number) >= 0x80) return false;
  let seen = 0;
  for (let at = from; at < to; at++) seen |= units[at] as number;
  return seen < 0x80;
}

/** Whether a short text (see `isShortText`) is a word of the table, and so a single token. */
export function isShortWord(
  { shortSlots, shortShift }: WordTable,
  units: Uint16Array,
  from: number,
  to: number,
): boolean {
  const low = lowOf(units, from, to - from);
  const high = highOf(units, from, to - from);
  const mask = shortSlots.length - 1;
  for (let slot = shortSlot(low, high, shortShift); ; slot = (slot + 2) & mask) {
    const found = shortSlots[slot] as number;
    if (found === low && shortSlots[slot + 1] === high) return true;
    if (found === 0) return false;
  }
}

/** Needs no branch: reads beyond the word's end and masks the excess. */
function lowOf(units: Uint16Array, at: number, length: number): number {
  const four =
    (units[at] as number) |
    ((units[at + 1] as number) << 7) |
    ((units[at + 2] as number) << 14) |
    ((units[at + 3] as number) << 21);
  return (four & (LOW_MASKS[length] as number)) | (length << LENGTH_SHIFT);
}

function highOf(units: Uint16Array, at: number, length: number): number {
  const four =
    (units[at + 4] as number) |
    ((units[at + 5] as number) << 7) |
    ((units[at + 6] as number) << 14) |
    ((units[at + 7] as number) << 21);
  return four & (HIGH_MASKS[length] as number);
}

const shortSlot = (low: number, high: number, shift: number): number =>
  (Math.imul(Math.imul(low, 0x9e3779b1) ^ high, 0x85ebca6b) >>> shift) << 1;

/** Whether a text that is not short (`isShortText`) is a word. */
export function isLongWord(words: WordTable, hash: number, units: Uint16Array, from: number, to: number): boolean {
  const { longSlots, longShift, longStarts, longUnits } = words;
  const mask = longSlots.length - 1;
  for (let slot = hash >>> longShift; ; slot = (slot + 1) & mask) {
    const found = longSlots[slot] as number;
    if (found === 0) return false;
    if ((found ^ (hash << INDEX_BITS)) >>> INDEX_BITS !== 0) continue;
    const index = found & INDEX_MASK;
    const start = longStarts[index - 1] as number;
    if ((longStarts[index] as number) - start !== to - from) continue;
    if (startsWithUnits(longUnits, start, units, from, to)) return true;
  }
}

/** The size, as a power of two, of a hash table that is about half full. */
export const hashTableBits = (entries: number): number => Math.ceil(Math.log2(Math.max(entries, 1) * 1.7));

export function buildWordTable(section: TokenizerAsset["section"]): WordTable {
  const lengths = section("wordLengths");
  const units = readBytePlanes16(section("wordUnits"));
  let short = 0;
  let longUnits = 0;
  for (let word = 0, start = 0; word < lengths.length; word++) {
    const end = start + (lengths[word] as number);
    if (isShortText(units, start, end)) short++;
    else longUnits += end - start;
    start = end;
  }
  const words = roomFor(short, lengths.length - short, longUnits);
  for (let word = 0, start = 0, long = 0; word < lengths.length; word++) {
    const end = start + (lengths[word] as number);
    if (isShortText(units, start, end)) addShort(words, units, start, end);
    else addLong(words, long++, units.subarray(start, end));
    start = end;
  }
  return words;
}

function roomFor(short: number, long: number, longUnits: number): WordTable {
  const shortBits = hashTableBits(short);
  const longBits = hashTableBits(long);
  return {
    shortSlots: sharedInt32(2 << shortBits),
    shortShift: 32 - shortBits,
    longUnits: sharedUint16(longUnits),
    longStarts: sharedInt32(long + 1),
    longSlots: sharedInt32(1 << longBits),
    longShift: 32 - longBits,
  };
}

function addShort({ shortSlots, shortShift }: WordTable, units: Uint16Array, from: number, to: number): void {
  const low = lowOf(units, from, to - from);
  const high = highOf(units, from, to - from);
  let slot = shortSlot(low, high, shortShift);
  while (shortSlots[slot] !== 0) slot = (slot + 2) & (shortSlots.length - 1);
  shortSlots[slot] = low;
  shortSlots[slot + 1] = high;
}

function addLong({ longSlots, longShift, longStarts, longUnits }: WordTable, index: number, units: Uint16Array): void {
  const start = longStarts[index] as number;
  longUnits.set(units, start);
  longStarts[index + 1] = start + units.length;
  const hash = hashUnits(units, 0, units.length);
  let slot = hash >>> longShift;
  while (longSlots[slot] !== 0) slot = (slot + 1) & (longSlots.length - 1);
  longSlots[slot] = (hash << INDEX_BITS) | (index + 1);
}
