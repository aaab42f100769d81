/** The tables of one unigram vocabulary, built from its data file. They contain only numbers, in shared memory. */

import { readCharacterClasses } from "../character-classes.ts";
import {
  readBytePlanes,
  readBytePlanes16,
  sharedInt32,
  type TokenizerAsset,
  type UnigramHeader,
} from "../tokenizer-asset.ts";
import { type NormalizationMap, readCharsmap } from "./normalization-map.ts";

/** SentencePiece's start-of-word mark. */
export const WORD_START = 0x2581;
/** An unknown character's score is this much below the worst piece's score. */
const UNKNOWN_PENALTY = 10;

export interface UnigramTables {
  kind: "unigram";
  addedTokens: string[];
  classes: Uint8Array;
  charsmap: NormalizationMap;
  pieceUnitsMax: number;
  unknownScore: number;
  /** The trie node of the unknown piece (`<unk>`), in case a text contains it. */
  unknownNode: number;
  /**
   * A trie over UTF-16. The children of a node are adjacent and ordered by their units, from `firstChild[node]` to
   * `firstChild[node + 1]`.
   */
  nodeUnits: Uint16Array;
  firstChild: Int32Array;
  /** The score of the piece that ends at each node. NaN: no piece ends there. */
  scores: Float32Array;
  /**
   * The children, by unit, of the two nodes that have thousands of children: the root, and the word mark below the
   * root.
   */
  rootChild: Int32Array;
  wordStartChild: Int32Array;
}

export const NO_CHILD = -1;

export function buildUnigramTables({ header, section }: TokenizerAsset<UnigramHeader>): UnigramTables {
  const nodeUnits = readBytePlanes16(section("nodeUnits"));
  const children = readBytePlanes(section("nodeChildren"), 2);
  const firstChild = sharedInt32(header.nodes + 1);
  let first = 1;
  for (let node = 0; node < header.nodes; node++) {
    firstChild[node] = first;
    first += children[node] as number;
  }
  firstChild[header.nodes] = first;
  const rootChild = childrenByUnit(nodeUnits, firstChild, 0);
  return {
    kind: "unigram",
    addedTokens: header.addedTokens,
    classes: readCharacterClasses(section("classes")),
    charsmap: readCharsmap(section("charsmap")),
    pieceUnitsMax: header.pieceUnitsMax,
    unknownScore: header.scoreMin - UNKNOWN_PENALTY,
    unknownNode: header.unknownNode,
    nodeUnits,
    firstChild,
    scores: readScores(section),
    rootChild,
    wordStartChild: childrenByUnit(nodeUnits, firstChild, rootChild[WORD_START] as number),
  };
}

function readScores(section: TokenizerAsset["section"]): Float32Array {
  const isPiece = section("nodeIsPiece");
  const bits = readBytePlanes(section("pieceScores"), 4);
  const pieceScores = new Float32Array(bits.buffer);
  const scores = new Float32Array(new SharedArrayBuffer(isPiece.length * 4)).fill(Number.NaN);
  let piece = 0;
  for (let node = 0; node < isPiece.length; node++)
    if (isPiece[node] === 1) scores[node] = pieceScores[piece++] as number;
  return scores;
}

function childrenByUnit(nodeUnits: Uint16Array, firstChild: Int32Array, node: number): Int32Array {
  const byUnit = sharedInt32(0x10000).fill(NO_CHILD);
  const end = firstChild[node + 1] as number;
  for (let child = firstChild[node] as number; child < end; child++) byUnit[nodeUnits[child] as number] = child;
  return byUnit;
}
