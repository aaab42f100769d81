/**
 * Counts a piece of any length in linear time, also while it grows.
 *
 * It uses this fact: if every two neighbors in a sequence of tokens, encoded together, yield just those two tokens,
 * then the sequence is the encoding of its text. (Merges happen in one order everywhere, so a merge across a border
 * would also happen with only the two neighbors present. Conversely, neighbors in an encoding always yield themselves.)
 * So two encodings may be joined if the last token of the first and the first token of the second yield themselves.
 *
 * A checkpoint records that the text up to `at` has `tokens` tokens, the last of which starts at `start`. Appending
 * text does not change that. Text after a checkpoint is encoded separately. If its first token does not fit beside the
 * checkpoint's last token, an earlier checkpoint is used.
 */
import type { PieceCounter } from "./piece-counter.ts";
import { BYTES_PER_UNIT_MAX, writeUtf8 } from "./utf8.ts";

/**
 * A new checkpoint is placed when `windowBytes` follow the last one. It is `marginBytes` before the end, because more
 * text may change the last few tokens. These values affect only the amount of work, never a count.
 */
interface Spacing {
  windowBytes: number;
  marginBytes: number;
}
const SPACING: Spacing = { windowBytes: 768, marginBytes: 96 };
/** A count sets a new checkpoint only if the next count then has at least this many bytes less to encode. */
const WORTHWHILE_BYTES = 32;
const NONE = new Uint8Array(0);

interface Checkpoint {
  at: number;
  tokens: number;
  start: number;
  /**
   * The byte length of the token after the checkpoint, once it is known to stay unchanged beside the checkpoint's last
   * token. Then `#canFollow` need not check it again. 0: not known.
   */
  follower: number;
}

export class LongPiece {
  readonly #counter: PieceCounter;
  readonly #checkpoints: Checkpoint[] = [];
  readonly #spacing: Spacing;
  #bytes = NONE;
  /** The length of the text so far in UTF-8 bytes. */
  length = 0;

  constructor(counter: PieceCounter, spacing = SPACING) {
    this.#counter = counter;
    this.#spacing = spacing;
  }

  /** The number of tokens up to the last checkpoint. More text rarely reduces it. */
  get tokensSettled(): number {
    return this.#checkpoints.at(-1)?.tokens ?? 0;
  }

  append(units: Uint16Array, from: number, to: number): void {
    const bytesMax = this.length + (to - from) * BYTES_PER_UNIT_MAX;
    if (bytesMax > this.#bytes.length) {
      const grown = new Uint8Array(bytesMax * 2);
      grown.set(this.#bytes.subarray(0, this.length));
      this.#bytes = grown;
    }
    const end = writeUtf8(units, from, to, this.#bytes, this.length);
    const { windowBytes } = this.#spacing;
    // Encodes in windows, so that a single call never encodes a long text.
    while (this.length < end) {
      const last = this.#checkpoints.at(-1)?.at ?? 0;
      this.length = Math.min(end, Math.max(last + windowBytes, this.length));
      if (this.length >= last + windowBytes) this.#settle(this.#encodeRest(), 1);
    }
  }

  /** Removes all text from this position on. */
  truncate(length: number): void {
    this.length = length;
    while ((this.#checkpoints.at(-1)?.at ?? 0) > length) this.#checkpoints.pop();
    // Forgets the token after a checkpoint (`follower`) if it reaches beyond the new end, because other bytes may
    // follow there now.
    for (let i = this.#checkpoints.length - 1; i >= 0; i--) {
      const checkpoint = this.#checkpoints[i] as Checkpoint;
      if (checkpoint.at + this.#counter.tables.tokenBytesMax <= length) break;
      if (checkpoint.at + checkpoint.follower > length) checkpoint.follower = 0;
    }
  }

  /**
   * Returns the number of tokens, and stores a checkpoint if it finds one. So a count after every character encodes
   * only a few hundred bytes each time, whatever the length.
   */
  count(): number {
    const fresh = this.#encodeRest();
    const total = this.tokensSettled + fresh;
    this.#settle(fresh, WORTHWHILE_BYTES);
    return total;
  }

  /**
   * Returns the number of tokens of the first `length` bytes, as a piece of their own. They must end with a whole
   * character.
   */
  countTo(length: number): number {
    if (length === this.length) return this.count();
    const { bpe } = this.#counter;
    for (let i = this.#checkpoints.findLastIndex(({ at }) => at <= length); ; i--) {
      const checkpoint = this.#checkpoints[i];
      const fresh = bpe.count(this.#bytes, checkpoint?.at ?? 0, length);
      if (checkpoint === undefined || fresh === 0 || this.#canFollow(checkpoint))
        return (checkpoint?.tokens ?? 0) + fresh;
    }
  }

  /**
   * Encodes the text after the last checkpoint whose last token stays unchanged beside that text. Drops later
   * checkpoints.
   */
  #encodeRest(): number {
    for (;;) {
      const last = this.#checkpoints.at(-1);
      const count = this.#counter.bpe.count(this.#bytes, last?.at ?? 0, this.length);
      if (last === undefined || count === 0 || this.#canFollow(last)) return count;
      this.#checkpoints.pop();
    }
  }

  /** Whether the checkpoint's last token and the first new token stay unchanged when they are encoded together. */
  #canFollow(checkpoint: Checkpoint): boolean {
    const { bpe, aside } = this.#counter;
    const { at, start } = checkpoint;
    const follower = bpe.tokenBytes(0);
    if (follower === checkpoint.follower) return true;
    const follows = aside.count(this.#bytes, start, at + follower) === 2 && aside.tokenBytes(0) === at - start;
    if (follows) checkpoint.follower = follower;
    return follows;
  }

  /** Looks for a checkpoint within the `count` new tokens, at least `bytesMin` after the last one, and stores it. */
  #settle(count: number, bytesMin: number): void {
    const last = this.#checkpoints.at(-1);
    let at = last?.at ?? 0;
    let start = at;
    let tokens = last?.tokens ?? 0;
    for (let token = 0; token < count; token++) {
      const end = at + this.#counter.bpe.tokenBytes(token);
      if (end > this.length - this.#spacing.marginBytes) break;
      start = at;
      at = end;
      tokens++;
    }
    if (at >= (last?.at ?? 0) + bytesMin) this.#checkpoints.push({ at, tokens, start, follower: 0 });
  }
}
