/**
 * Random numbers derived from a seed. Each purpose has a stream of its own, so that an additional number for one
 * purpose does not change the others.
 */
import type { Random } from "../gateway/src/base/random.ts";

export class SeededRandom implements Random {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: string) {
    this.#seed = seed;
    [this.#a, this.#b, this.#c, this.#d] = [1, 2, 3, 4].map((part) => hashOf(`${part}:${seed}`)) as [
      number,
      number,
      number,
      number,
    ];
    for (let i = 0; i < 12; i++) this.#word();
  }

  /** Returns a separate stream of random numbers for a purpose, from the same seed. */
  of(purpose: string): SeededRandom {
    return new SeededRandom(`${this.#seed}/${purpose}`);
  }

  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.#word() & 0xff;
  }

  /** Returns a number ≥ 0 and < 1. */
  next(): number {
    return this.#word() / 2 ** 32;
  }

  /** Returns a whole number ≥ 0 and < bound. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** Returns a whole number between both bounds, which are included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** Returns true with a probability of 1 in `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(things: readonly T[]): T {
    if (things.length === 0) throw new Error("there is nothing to pick from");
    return things[this.below(things.length)] as T;
  }

  shuffled<T>(things: readonly T[]): T[] {
    const cards = [...things];
    for (let i = cards.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [cards[i], cards[j]] = [cards[j] as T, cards[i] as T];
    }
    return cards;
  }

  /** Returns the next 32 bits of the random number generator sfc32. */
  #word(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }
}

/** Computes the hash function FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash | 0;
}
