/**
 * A cache of counts. A chat sends its whole conversation again with every turn, and only the end is new. The cache holds digests and
 * numbers, never text, separately for each payer, so that response times reveal nothing about other payers' texts. One per thread and
 * tokenizer. Long texts are cached in blocks that end at line breaks, so appended text leaves the first blocks unchanged. This is exact if
 * no piece crosses the end of a block and nothing is joined across it (bpe/pieces.ts): after a line break that ends its white space a piece
 * always ends.
 */
import { hash } from "node:crypto";

/** Counting a shorter text takes no longer than looking it up. */
export const KNOWN_UNITS_MIN = 512;
/** The minimum length of a block in UTF-16 units, except for the last. */
const BLOCK_UNITS_MIN = 4096;
/** The cache holds at least this many entries and at most twice as many, of some hundred bytes each. */
const KEPT_MIN = 4096;

export class KnownCounts {
  readonly #keptMin: number;
  /** Recently used entries, and older ones. When the first map is full it replaces the second. */
  #recent = new Map<string, number>();
  #earlier = new Map<string, number>();

  constructor(keptMin = KEPT_MIN) {
    this.#keptMin = keptMin;
  }

  get size(): number {
    return this.#recent.size + this.#earlier.size;
  }

  /** The cache key of the payer's text. Lone surrogates count and are hashed as U+FFFD. */
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

/** The end of the block that begins at `from`: after a line break followed only by spaces and a plain character. */
export function blockEnd(text: string, from: number): number {
  for (let at = text.indexOf("\n", from + BLOCK_UNITS_MIN - 1); at >= 0; at = text.indexOf("\n", at + 1)) {
    let next = at + 1;
    while (isBlank(text.charCodeAt(next))) next++;
    const unit = text.charCodeAt(next);
    if (unit >= FIRST_GRAPHIC && unit <= LAST_GRAPHIC) return at + 1;
    // The line break or what follows it continues as white space.
    if (unit !== NEWLINE) at = next;
  }
  return text.length;
}

const isBlank = (unit: number): boolean => unit === BLANK || unit === TAB;
