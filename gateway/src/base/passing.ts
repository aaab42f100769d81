/**
 * A map and a set for what comes and goes by the hundred a second, with much hanging on each.
 *
 * JavaScript's own take a new table every so many entries. The old one keeps what it held then, and points to the new one. Once
 * one of them was moved to the old generation, all that came after it is kept until the next full collection, and copied there:
 * nearly all that every request made. Here an entry is a seat that is emptied when it is left, so that old tables keep empty seats.
 */
export interface Seat<T> {
  thing: T | undefined;
}

export class PassingMap<Key, T> {
  readonly #seats = new Map<Key, Seat<T>>();

  get(key: Key): T | undefined {
    return this.#seats.get(key)?.thing;
  }

  /** Under a key that is not there. */
  add(key: Key, thing: T): void {
    this.#seats.set(key, { thing });
  }

  delete(key: Key): void {
    const seat = this.#seats.get(key);
    if (seat === undefined) return;
    this.#seats.delete(key);
    seat.thing = undefined;
  }

  /** In the order they came. */
  all(): T[] {
    return Array.from(this.#seats.values(), ({ thing }) => thing as T);
  }
}

export class PassingSet<T> {
  readonly #seats = new Set<Seat<T>>();

  get size(): number {
    return this.#seats.size;
  }

  add(thing: T): Seat<T> {
    const seat: Seat<T> = { thing };
    this.#seats.add(seat);
    return seat;
  }

  /** Nothing happens where that was done before. */
  delete(seat: Seat<T>): void {
    this.#seats.delete(seat);
    seat.thing = undefined;
  }

  /** In the order they came. */
  all(): T[] {
    return Array.from(this.#seats, ({ thing }) => thing as T);
  }
}
