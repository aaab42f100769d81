/** Converts a SentencePiece unigram vocabulary from GGUF into an asset. */
import type { GgufArray } from "./read-gguf.ts";
import { computeGraphemeClasses } from "./unicode.ts";
import { splitBytePlanes, writeAsset } from "./write-asset.ts";

/** The numbers of token types in GGUF. */
const UNUSED = 5;

interface Node {
  children: Map<number, Node>;
  score: number | undefined;
  isUnknown: boolean;
}

const newNode = (): Node => ({ children: new Map(), score: undefined, isUnknown: false });

export function convertUnigram(
  file: string,
  arrays: Map<string, GgufArray>,
  options: { source: string; addedTokens: string[]; unknown: string },
): string {
  const array = (key: string): GgufArray => {
    const found = arrays.get(`tokenizer.ggml.${key}`);
    if (found === undefined) throw new Error(`no ${key}`);
    return found;
  };
  const root = newNode();
  let scoreMin = 0;
  let pieceUnitsMax = 0;
  array("tokens").strings.forEach((piece, id) => {
    if (array("token_type").bytes.readInt32LE(id * 4) === UNUSED && !options.addedTokens.includes(piece)) return;
    // Special tokens are pieces with a score of zero, as in the reference implementation.
    const score = options.addedTokens.includes(piece) ? 0 : array("scores").bytes.readFloatLE(id * 4);
    scoreMin = Math.min(scoreMin, score);
    pieceUnitsMax = Math.max(pieceUnitsMax, piece.length);
    let node = root;
    for (let i = 0; i < piece.length; i++) {
      const unit = piece.charCodeAt(i);
      const child = node.children.get(unit) ?? newNode();
      node.children.set(unit, child);
      node = child;
    }
    node.score = score;
    node.isUnknown = piece === options.unknown;
  });
  const nodes = breadthFirst(root);
  const scored = nodes.filter((node) => node.score !== undefined);
  const scores = new Uint32Array(Float32Array.from(scored, (node) => node.score ?? 0).buffer);
  const described = {
    kind: "unigram" as const,
    source: options.source,
    nodes: nodes.length,
    unknownNode: nodes.findIndex((node) => node.isUnknown),
    pieceUnitsMax,
    scoreMin,
    addedTokens: options.addedTokens,
  };
  return writeAsset(file, described, {
    classes: computeGraphemeClasses(),
    nodeUnits: splitBytePlanes(unitsOf(nodes), 2),
    nodeChildren: splitBytePlanes(
      nodes.map((node) => node.children.size),
      2,
    ),
    nodeIsPiece: splitBytePlanes(
      nodes.map((node) => (node.score === undefined ? 0 : 1)),
      1,
    ),
    pieceScores: splitBytePlanes(scores, 4),
    charsmap: array("precompiled_charsmap").bytes,
  });
}

/** All nodes level by level, with siblings ordered by unit, so that a node's children are adjacent. */
function breadthFirst(root: Node): Node[] {
  const nodes = [root];
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[i] ?? root;
    node.children = new Map([...node.children].sort(([a], [b]) => a - b));
    nodes.push(...node.children.values());
  }
  return nodes;
}

/** For each node, the unit that leads to it; 0 for the root. */
function unitsOf(nodes: Node[]): number[] {
  return [0, ...nodes.flatMap((node) => [...node.children.keys()])];
}
