/**
 * SentencePiece's normalization table: a double-array trie over UTF-8, whose values are offsets into a list of
 * zero-terminated replacements. It copies an oddity of the reference tokenizer: for a grapheme cluster shorter than six
 * bytes it looks up the shortest prefix in the table, and the replacement of that prefix replaces the whole cluster.
 */
import { copyToSharedMemory, sharedInt32 } from "../tokenizer-asset.ts";

export interface NormalizationMap {
  trie: Int32Array;
  replacements: Uint8Array;
  /** For each character of Unicode's basic plane, the offset of its replacement, or -1 if it stays unchanged. */
  single: Int32Array;
}

export const CODE_POINT_UNCHANGED = -1;

export function readCharsmap(section: Uint8Array): NormalizationMap {
  const view = new DataView(section.buffer, section.byteOffset, section.byteLength);
  const trieBytes = view.getUint32(0, true);
  const trie = sharedInt32(trieBytes / 4);
  for (let i = 0; i < trie.length; i++) trie[i] = view.getInt32(4 + i * 4, true);
  const single = sharedInt32(0x10000);
  const bytes = new Uint8Array(4);
  for (let unit = 0; unit < single.length; unit++) {
    single[unit] = findReplacement(trie, bytes, encodeCodePoint(unit, bytes, 0));
  }
  return { trie, replacements: copyToSharedMemory(section.subarray(4 + trieBytes)), single };
}

/** Writes one code point as UTF-8 to `bytes` at `at`. Returns the end. */
export function encodeCodePoint(codePoint: number, bytes: Uint8Array, at: number): number {
  if (codePoint < 0x80) {
    bytes[at] = codePoint;
    return at + 1;
  }
  const length = codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
  let rest = codePoint;
  for (let i = at + length - 1; i > at; i--) {
    bytes[i] = 0x80 | (rest & 0x3f);
    rest >>= 6;
  }
  bytes[at] = ((0xf00 >> length) & 0xff) | rest;
  return at + length;
}

/** The offset of the replacement for the shortest prefix of `bytes[0..length)` in the table, or KEPT. */
export function findReplacement(trie: Int32Array, bytes: Uint8Array, length: number): number {
  let node = offsetOf(trie[0] as number);
  for (let i = 0; i < length; i++) {
    const byte = bytes[i] as number;
    node ^= byte;
    const unit = trie[node] as number;
    if ((unit & 0x800000ff) !== byte) return CODE_POINT_UNCHANGED;
    node ^= offsetOf(unit);
    const hasValue = ((unit >>> 8) & 1) === 1;
    if (hasValue) return (trie[node] as number) & 0x7fffffff;
  }
  return CODE_POINT_UNCHANGED;
}

const offsetOf = (unit: number): number => (unit >>> 10) << ((unit & 0x200) >>> 6);
