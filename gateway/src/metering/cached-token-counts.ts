/**
 * A cache of token counts. A chat sends its whole conversation again with every turn, and only the end is new. The
 * cache contains digests and numbers, never text, and is separate for each payer, so that response times reveal nothing
 * about other payers' texts. Each thread has one such cache per tokenizer.
 *
 * Long texts are cached in blocks that end at line breaks, so appending text leaves the first blocks unchanged. The sum
 * of the blocks is exact if no piece crosses the end of a block and Unicode normalization combines no characters across
 * it. Both hold after the last line break of a run of white space: a piece always ends there (bpe/split-pieces.ts), and
 * `findBlockEnd` requires that only blanks and then a visible ASCII character follow.
 */
import { hash } from "node:crypto";

/** The shortest text that is cached. Counting a shorter one takes no longer than looking it up. */
export const CACHED_TEXT_CODE_UNITS_MIN = 512;
/** The least length of a block in UTF-16 units, except for the last block. */
const BLOCK_CODE_UNITS_MIN = 4096;
/** The cache has at least this many entries and at most twice as many. An entry takes some hundred bytes. */
const KEPT_MIN = 4096;

export class CachedCounts {
  readonly #keptMin: number;
  /** Two generations of entries. When the recent one is full, it replaces the older one. */
  #recent = new Map<string, number>();
  #earlier = new Map<string, number>();

  constructor(keptMin = KEPT_MIN) {
    this.#keptMin = keptMin;
  }

  get size(): number {
    return this.#recent.size + this.#earlier.size;
  }

  /** The cache key of a payer's text. Lone surrogates are hashed as U+FFFD, as they are counted. */
  keyOf(payer: string, text: string): string {
    return `${payer} ${hash("sha256", text, "base64url")}`;
  }

  get(key: string): number | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const earlier = this.#earlier.get(key);
    if (earlier !== undefined) this.set(key, earlier);
    return earlier;
  }

  set(key: string, count: number): void {
    if (this.#recent.size >= this.#keptMin) {
      this.#earlier = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, count);
  }
}

const [NEWLINE, TAB, BLANK, FIRST_GRAPHIC, LAST_GRAPHIC] = [0x0a, 0x09, 0x20, 0x21, 0x7e];

/**
 * Returns the end of the block that begins at `from`: the position after a line break whose next character, apart from
 * blanks and tabs, is a visible ASCII character.
 */
export function findBlockEnd(text: string, from: number): number {
  for (let at = text.indexOf("\n", from + BLOCK_CODE_UNITS_MIN - 1); at >= 0; at = text.indexOf("\n", at + 1)) {
    let next = at + 1;
    while (isBlank(text.charCodeAt(next))) next++;
    const unit = text.charCodeAt(next);
    if (unit >= FIRST_GRAPHIC && unit <= LAST_GRAPHIC) return at + 1;
    // White space continues after the line break, so the block cannot end here.
    if (unit !== NEWLINE) at = next;
  }
  return text.length;
}

const isBlank = (unit: number): boolean => unit === BLANK || unit === TAB;
