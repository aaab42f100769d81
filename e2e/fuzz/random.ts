/** Choices that a seed and an index determine, so that any request of a run can be made again by itself. */

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: number, index: number) {
    this.#a = scatter(seed);
    this.#b = scatter(index ^ 0x5bf03635);
    this.#c = scatter(this.#a ^ Math.imul(this.#b, 0x9e3779b1));
    for (let i = 0; i < 12; i++) this.next();
  }

  /** From 0 to 1, without 1. The generator is sfc32. */
  next(): number {
    const sum = (this.#a + this.#b + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  /** A whole number; both ends are possible. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error("there is nothing to pick from");
    return list[this.int(0, list.length - 1)] as T;
  }

  /** One of the entries, each as likely as it weighs. */
  weighted<T extends { weight: number }>(list: readonly T[]): T {
    let left = this.next() * list.reduce((sum, { weight }) => sum + weight, 0);
    for (const entry of list) {
      left -= entry.weight;
      if (left < 0) return entry;
    }
    return list.at(-1) as T;
  }

  times<T>(min: number, max: number, make: (i: number) => T): T[] {
    return Array.from({ length: this.int(min, max) }, (_, i) => make(i));
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.alloc(count);
    for (let i = 0; i < count; i++) bytes[i] = this.int(0, 255);
    return bytes;
  }

  /** Characters of the alphabet. */
  word(length: number, alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"): string {
    let word = "";
    for (let i = 0; i < length; i++) word += alphabet[this.int(0, alphabet.length - 1)];
    return word;
  }
}

/** Neighbouring numbers become unrelated ones (the finaliser of murmur3). */
function scatter(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
