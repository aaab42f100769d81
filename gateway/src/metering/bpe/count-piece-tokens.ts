/**
 * Counts the tokens of one piece of text by byte-pair encoding (BPE), without listing them. BPE starts from bytes and
 * merges the pair of lowest rank, leftmost first, until no pair merges.
 *
 * The count starts in passes: a pass merges all pairs of the lowest rank at once. That is correct because pairs with a
 * new symbol usually rank after the merge that created it; where that is not certain (`eager`), a pass makes a single
 * merge. Passes are fast for repetitive text. When a pass merges little, as in varied text, the rest is merged one pair
 * at a time.
 */
import { type BpeTables, NO_MERGE_RANK, pairRank } from "./tables.ts";

/**
 * A pair in the tree is `rank << POSITION_BITS | position`, so that the smallest is the lowest rank, then the leftmost.
 */
const POSITION_BITS = 12;
const ORDERED_MAX = 1 << POSITION_BITS;
/** With at most this many symbols, repeated passes over all pairs are faster than the tree of pairs (`#tree`). */
const ORDERED_MIN = 24;
/**
 * A pass merges all pairs of one rank. If it merges a smaller share of the symbols than this, the remaining pairs are
 * merged one at a time with the tree.
 */
const WORTHWHILE = 1 / 16;

export class PieceTokenCounter {
  readonly tables: BpeTables;
  /** The symbols of the latest piece. After counting, these are its tokens. */
  #symbols = new Int32Array(256);
  /** For each symbol, the rank of its pair with the next symbol. */
  #ranks = new Int32Array(256);
  #lowest = NO_MERGE_RANK;
  #next = new Int32Array(ORDERED_MAX);
  #previous = new Int32Array(ORDERED_MAX);
  /** Each node is the smaller of its two children. Node i has the children 2i and 2i + 1. */
  #tree = new Int32Array(2 * ORDERED_MAX);

  /** The number of bytes processed so far, as a measure of work. */
  bytesTaken = 0;

  constructor(tables: BpeTables) {
    this.tables = tables;
  }

  /** Returns the number of tokens in `bytes[from..to)`. */
  count(bytes: Uint8Array, from: number, to: number): number {
    let count = to - from;
    if (count === 0) return 0;
    this.bytesTaken += count;
    this.#start(bytes, from, count);
    while (this.#lowest !== NO_MERGE_RANK) {
      const before = count;
      count = this.#pass(count);
      if (count > ORDERED_MIN && before - count < before * WORTHWHILE && count <= ORDERED_MAX) {
        return this.#mergeOrdered(count);
      }
    }
    return count;
  }

  /** Returns the byte length of a token of the latest piece. */
  tokenBytes(token: number): number {
    return this.tables.symbolBytes[this.#symbols[token] as number] as number;
  }

  #start(bytes: Uint8Array, from: number, length: number): void {
    if (length > this.#symbols.length) {
      this.#symbols = new Int32Array(length * 2);
      this.#ranks = new Int32Array(length * 2);
    }
    const { bytePairRanks } = this.tables;
    const symbols = this.#symbols;
    const ranks = this.#ranks;
    let lowest = NO_MERGE_RANK;
    let left = bytes[from] as number;
    symbols[0] = left;
    for (let i = 1; i < length; i++) {
      const right = bytes[from + i] as number;
      const rank = bytePairRanks[(left << 8) | right] as number;
      symbols[i] = right;
      ranks[i - 1] = rank;
      if (rank < lowest) lowest = rank;
      left = right;
    }
    ranks[length - 1] = NO_MERGE_RANK;
    this.#lowest = lowest;
  }

  #pass(count: number): number {
    const { tables } = this;
    const symbols = this.#symbols;
    const ranks = this.#ranks;
    const rank = this.#lowest;
    const made = tables.merged[rank] as number;
    let lowest = NO_MERGE_RANK;
    let read = 0;
    // Skips the symbols before the first merge, because they stay in place. Their pairs keep their ranks, except the
    // last one, whose right symbol is merged; the loop below ranks it again.
    for (let last = NO_MERGE_RANK; ranks[read] !== rank; read++) {
      if (last < lowest) lowest = last;
      last = ranks[read] as number;
    }
    let write = read;
    let merging = true;
    let isMade = false;
    while (read < count) {
      const wasMade = isMade;
      isMade = merging && ranks[read] === rank;
      const symbol = isMade ? made : (symbols[read] as number);
      if (write > 0) {
        // Neither symbol is new, so the pair's rank is unchanged.
        const between =
          isMade || wasMade ? pairRank(tables, symbols[write - 1] as number, symbol) : (ranks[read - 1] as number);
        ranks[write - 1] = between;
        if (between < lowest) lowest = between;
      }
      symbols[write++] = symbol;
      read += isMade ? 2 : 1;
      if (isMade && tables.eager[rank] === 1) merging = false;
    }
    ranks[write - 1] = NO_MERGE_RANK;
    this.#lowest = lowest;
    return write;
  }

  /** Merges one pair at a time, with a tree whose root is the lowest pair. */
  #mergeOrdered(length: number): number {
    const { tables } = this;
    const symbols = this.#symbols;
    const next = this.#next;
    const previous = this.#previous;
    const tree = this.#tree;
    const leaves = this.#plant(length);
    for (let key = tree[1] as number; key !== NO_MERGE_RANK; key = tree[1] as number) {
      const at = key & (ORDERED_MAX - 1);
      const right = next[at] as number;
      const after = next[right] as number;
      const symbol = tables.merged[key >>> POSITION_BITS] as number;
      symbols[at] = symbol;
      next[at] = after;
      setLeaf(tree, leaves + right, NO_MERGE_RANK);
      if (after < length) {
        previous[after] = at;
        setLeaf(tree, leaves + at, keyOf(pairRank(tables, symbol, symbols[after] as number), at));
      } else {
        setLeaf(tree, leaves + at, NO_MERGE_RANK);
      }
      const before = previous[at] as number;
      if (before >= 0) {
        setLeaf(tree, leaves + before, keyOf(pairRank(tables, symbols[before] as number, symbol), before));
      }
    }
    let count = 0;
    for (let at = 0; at < length; at = next[at] as number) symbols[count++] = symbols[at] as number;
    return count;
  }

  /** Builds the tree over all pairs. Returns the index of its first leaf. */
  #plant(length: number): number {
    const tree = this.#tree;
    const leaves = 1 << (32 - Math.clz32(length - 1));
    for (let i = 0; i < length; i++) {
      this.#next[i] = i + 1;
      this.#previous[i] = i - 1;
      tree[leaves + i] = keyOf(this.#ranks[i] as number, i);
    }
    tree.fill(NO_MERGE_RANK, leaves + length, 2 * leaves);
    for (let i = leaves - 1; i > 0; i--) tree[i] = Math.min(tree[2 * i] as number, tree[2 * i + 1] as number);
    return leaves;
  }
}

const keyOf = (rank: number, position: number): number =>
  rank === NO_MERGE_RANK ? NO_MERGE_RANK : (rank << POSITION_BITS) | position;

function setLeaf(tree: Int32Array, leaf: number, key: number): void {
  tree[leaf] = key;
  for (let i = leaf >> 1; i > 0; i >>= 1) {
    const lowest = Math.min(tree[2 * i] as number, tree[2 * i + 1] as number);
    if (tree[i] === lowest) return;
    tree[i] = lowest;
  }
}
