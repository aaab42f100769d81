/** Things without an order of their own, from which some are drawn at random. Whatever its size, each step costs the same. */
import type { Random } from "../base/random.ts";

/** A thing's place in a bag, which knows where it is: nothing has to be looked up. */
export interface Seat<T> {
  readonly thing: T;
  at: number;
}

export class Bag<T> {
  readonly #seats: Seat<T>[] = [];

  get size(): number {
    return this.#seats.length;
  }

  add(thing: T): Seat<T> {
    const seat = { thing, at: this.#seats.length };
    this.#seats.push(seat);
    return seat;
  }

  /** What is in this bag, once. */
  delete(seat: Seat<T>): void {
    this.#swap(seat.at, this.#seats.length - 1);
    this.#seats.pop();
  }

  /** In no order. */
  all(): T[] {
    return this.#seats.map(({ thing }) => thing);
  }

  some(willDo: (thing: T) => boolean): boolean {
    return this.#seats.some(({ thing }) => willDo(thing));
  }

  /** So many of those that will do, each as likely as any other, none twice. Those that will not do cost a look each. */
  draw(count: number, random: Random, willDo: (thing: T) => boolean): T[] {
    const drawn: T[] = [];
    // What was looked at is moved to the front, and the next is drawn from behind it.
    for (let looked = 0; looked < this.#seats.length && drawn.length < count; looked++) {
      this.#swap(looked, looked + random.below(this.#seats.length - looked));
      const { thing } = this.#seats[looked] as Seat<T>;
      if (willDo(thing)) drawn.push(thing);
    }
    return drawn;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#seats[a] as Seat<T>, this.#seats[b] as Seat<T>];
    this.#seats[a] = other;
    this.#seats[b] = one;
    other.at = a;
    one.at = b;
  }
}
