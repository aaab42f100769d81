/**
 * The counts of texts that were counted before. Who talks to a model sends the whole conversation again with every turn, and all of it
 * but the end is known. Kept are digests and numbers, never text; for each payer apart, so that no one learns by the time it takes
 * what someone else has sent. One per thread and tokenizer.
 *
 * Long texts are known by blocks, which end at line breaks: what was appended to one leaves its first blocks as they were. That
 * is exact where no piece that is encoded lies across such an end, and nothing is joined across it (bpe/pieces.ts): after a
 * line break that ends its white space there is always the end of a piece, whatever came before and whatever follows.
 */
import { hash } from "node:crypto";

/** Shorter texts are counted in the time that it takes to look for them. */
export const KNOWN_UNITS_MIN = 512;
/** A block has at least so many UTF-16 units, unless the text ends. */
const BLOCK_UNITS_MIN = 4096;
/** So many are kept at least, and twice as many at most: some hundred bytes each. */
const KEPT_MIN = 4096;

export class KnownCounts {
  readonly #keptMin: number;
  /** Those asked for of late, and those asked for before. When the first are many they take the place of the second. */
  #recent = new Map<string, number>();
  #earlier = new Map<string, number>();

  constructor(keptMin = KEPT_MIN) {
    this.#keptMin = keptMin;
  }

  get size(): number {
    return this.#recent.size + this.#earlier.size;
  }

  /** Under which the payer's text is known. Half a character counts as U+FFFD, and is hashed as that. */
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

/** Where the block that begins at `from` ends: after a line break that nothing but blanks and a plain character follow. */
export function blockEnd(text: string, from: number): number {
  for (let at = text.indexOf("\n", from + BLOCK_UNITS_MIN - 1); at >= 0; at = text.indexOf("\n", at + 1)) {
    let next = at + 1;
    while (isBlank(text.charCodeAt(next))) next++;
    const unit = text.charCodeAt(next);
    if (unit >= FIRST_GRAPHIC && unit <= LAST_GRAPHIC) return at + 1;
    // The break, or what follows it, is white space that goes on.
    if (unit !== NEWLINE) at = next;
  }
  return text.length;
}

const isBlank = (unit: number): boolean => unit === BLANK || unit === TAB;
