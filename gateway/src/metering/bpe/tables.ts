/**
 * The tables of one byte-level BPE vocabulary, built from its data file. They contain only numbers in shared memory, so
 * that worker threads can use them directly.
 */

import { readCharacterClasses } from "../character-classes.ts";
import {
  type BpeHeader,
  copyToSharedMemory,
  readBytePlanes,
  sharedInt32,
  type TokenizerAsset,
} from "../tokenizer-asset.ts";
import { buildWordTable, hashTableBits, type WordTable } from "./word-table.ts";

/** The rank of two symbols that do not merge. */
export const NO_MERGE_RANK = 0x7fffffff;

export interface BpeTables {
  kind: "bpe";
  digitsMax: number;
  nfc: boolean;
  tokenBytesMax: number;
  addedTokens: string[];
  classes: Uint8Array;
  /** The rank at which two bytes merge, at index `left << 8 | right`. NONE: they do not merge. */
  bytePairRanks: Int32Array;
  /** A hash table with open addressing and two numbers per slot. `pairRank` documents the layout. */
  pairSlots: Int32Array;
  /** The shift that turns a hash into a slot's index. */
  pairShift: number;
  /** For each rank, the symbol that its merge creates. */
  merged: Int32Array;
  /** For each symbol, its length in bytes. */
  symbolBytes: Uint8Array;
  /**
   * 1 for a merge whose symbol may take part in a merge of lower rank. Trained vocabularies have none. Llama 3's merges
   * were derived from its vocabulary and include some.
   */
  eager: Uint8Array;
  words: WordTable;
}

/**
 * A slot has two numbers: left (18 bits) with the low 14 bits of right, then the high 4 bits of right with the rank (20
 * bits). A slot whose second number is -1 is empty.
 */
const keyOf = (left: number, right: number): number => (left << 14) | (right & 0x3fff);
const RANK_MASK = 0xfffff;

function hashPair(left: number, right: number): number {
  return Math.imul(Math.imul(left, 0x9e3779b1) ^ right, 0x85ebca6b);
}

/** Returns the rank at which two symbols merge, or NONE. */
export function pairRank({ pairSlots, pairShift }: BpeTables, left: number, right: number): number {
  const key = keyOf(left, right);
  const high = right >>> 14;
  for (let slot = hashPair(left, right) >>> pairShift; ; slot = slot + 1 === pairSlots.length >>> 1 ? 0 : slot + 1) {
    const rest = pairSlots[slot * 2 + 1] as number;
    if (rest === -1) return NO_MERGE_RANK;
    if (pairSlots[slot * 2] === key && rest >>> 20 === high) return rest & RANK_MASK;
  }
}

export function buildBpeTables({ header, section }: TokenizerAsset<BpeHeader>): BpeTables {
  const { digitsMax, nfc, tokenBytesMax, addedTokens } = header;
  return {
    kind: "bpe",
    digitsMax,
    nfc,
    tokenBytesMax,
    addedTokens,
    classes: readCharacterClasses(section("classes")),
    ...buildMerges(section),
    symbolBytes: copyToSharedMemory(section("symbolBytes")),
    eager: copyToSharedMemory(section("mergeEager")),
    words: buildWordTable(section),
  };
}

function buildMerges(
  section: TokenizerAsset["section"],
): Pick<BpeTables, "bytePairRanks" | "pairSlots" | "pairShift" | "merged"> {
  const left = readBytePlanes(section("mergeLeft"), 3);
  const right = readBytePlanes(section("mergeRight"), 3);
  const steps = section("mergeSteps");
  const bits = hashTableBits(left.length);
  const pairShift = 32 - bits;
  const mask = (1 << bits) - 1;
  const pairSlots = sharedInt32(2 << bits).fill(-1);
  const bytePairRanks = sharedInt32(65536).fill(NO_MERGE_RANK);
  const merged = sharedInt32(left.length);
  let symbol = 255;
  for (let rank = 0; rank < left.length; rank++) {
    symbol += steps[rank] as number;
    merged[rank] = symbol;
    const a = left[rank] as number;
    const b = right[rank] as number;
    if (a < 256 && b < 256) bytePairRanks[(a << 8) | b] = rank;
    let slot = hashPair(a, b) >>> pairShift;
    while (pairSlots[slot * 2 + 1] !== -1) slot = (slot + 1) & mask;
    pairSlots[slot * 2] = keyOf(a, b);
    pairSlots[slot * 2 + 1] = ((b >>> 14) << 20) | rank;
  }
  return { bytePairRanks, pairSlots, pairShift, merged };
}
