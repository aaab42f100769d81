/** Random choices that depend only on a seed and an index, so that any request of a run can be generated again. */
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";

export class SeededChoices extends SeededRandom {
  constructor(seed: number, index: number) {
    super(`${seed}/${index}`);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** Picks an entry. Its probability is proportional to its weight. */
  weighted<T extends { weight: number }>(list: readonly T[]): T {
    let left = this.next() * list.reduce((sum, { weight }) => sum + weight, 0);
    for (const entry of list) {
      left -= entry.weight;
      if (left < 0) return entry;
    }
    return list.at(-1) as T;
  }

  times<T>(min: number, max: number, make: (i: number) => T): T[] {
    return Array.from({ length: this.between(min, max) }, (_, i) => make(i));
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.alloc(count);
    this.fill(bytes);
    return bytes;
  }

  /** A word of this length from the alphabet. */
  word(length: number, alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"): string {
    let word = "";
    for (let i = 0; i < length; i++) word += alphabet[this.between(0, alphabet.length - 1)];
    return word;
  }
}
