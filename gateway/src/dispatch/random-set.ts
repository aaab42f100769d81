/**
 * A set from which random elements can be drawn. Adding and removing take constant time, however many elements there
 * are.
 */
import type { Random } from "../base/random.ts";

/** The position of an element in the set, by which it can be removed without a search. */
export interface RandomSetPosition<T> {
  readonly thing: T;
  at: number;
}

export class RandomSet<T> {
  readonly #positions: RandomSetPosition<T>[] = [];

  get size(): number {
    return this.#positions.length;
  }

  add(thing: T): RandomSetPosition<T> {
    const position = { thing, at: this.#positions.length };
    this.#positions.push(position);
    return position;
  }

  /** Removes an element of this set. */
  delete(position: RandomSetPosition<T>): void {
    this.#swap(position.at, this.#positions.length - 1);
    this.#positions.pop();
  }

  /** All elements, in no particular order. */
  all(): T[] {
    return this.#positions.map(({ thing }) => thing);
  }

  some(willDo: (thing: T) => boolean): boolean {
    return this.#positions.some(({ thing }) => willDo(thing));
  }

  /**
   * Draws up to `count` matching elements, each with the same probability and at most once. Elements that do not match
   * cost one check each.
   */
  draw(count: number, random: Random, willDo: (thing: T) => boolean): T[] {
    const drawn: T[] = [];
    // Checked elements are moved to the front, and the next one is drawn from those behind.
    for (let looked = 0; looked < this.#positions.length && drawn.length < count; looked++) {
      this.#swap(looked, looked + random.below(this.#positions.length - looked));
      const { thing } = this.#positions[looked] as RandomSetPosition<T>;
      if (willDo(thing)) drawn.push(thing);
    }
    return drawn;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#positions[a] as RandomSetPosition<T>, this.#positions[b] as RandomSetPosition<T>];
    this.#positions[a] = other;
    this.#positions[b] = one;
    other.at = a;
    one.at = b;
  }
}
