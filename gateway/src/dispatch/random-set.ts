/** Things without an order of their own, from which some are drawn at random. Whatever its size, each step costs the same. */
import type { Random } from "../base/random.ts";

/** A thing's place in a set, which knows where it is: nothing has to be looked up. */
export interface Position<T> {
  readonly thing: T;
  at: number;
}

export class RandomSet<T> {
  readonly #positions: Position<T>[] = [];

  get size(): number {
    return this.#positions.length;
  }

  add(thing: T): Position<T> {
    const position = { thing, at: this.#positions.length };
    this.#positions.push(position);
    return position;
  }

  /** What is in this set, once. */
  delete(position: Position<T>): void {
    this.#swap(position.at, this.#positions.length - 1);
    this.#positions.pop();
  }

  /** In no order. */
  all(): T[] {
    return this.#positions.map(({ thing }) => thing);
  }

  some(willDo: (thing: T) => boolean): boolean {
    return this.#positions.some(({ thing }) => willDo(thing));
  }

  /** So many of those that will do, each as likely as any other, none twice. Those that will not do cost a look each. */
  draw(count: number, random: Random, willDo: (thing: T) => boolean): T[] {
    const drawn: T[] = [];
    // What was looked at is moved to the front, and the next is drawn from behind it.
    for (let looked = 0; looked < this.#positions.length && drawn.length < count; looked++) {
      this.#swap(looked, looked + random.below(this.#positions.length - looked));
      const { thing } = this.#positions[looked] as Position<T>;
      if (willDo(thing)) drawn.push(thing);
    }
    return drawn;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#positions[a] as Position<T>, this.#positions[b] as Position<T>];
    this.#positions[a] = other;
    this.#positions[b] = one;
    other.at = a;
    one.at = b;
  }
}
