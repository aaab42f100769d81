/**
 * A map and a set for short-lived entries with large objects, hundreds per second. JavaScript's own map allocates a new
 * table from time to time, and the old table keeps its entries and points to the new one. When V8's garbage collector
 * has moved one table to the old generation, all later tables and entries are moved there too, and stay until the next
 * full collection. Here an entry is a cell that is emptied when it is removed, so old tables keep only empty cells.
 */
export interface SetEntry<T> {
  thing: T | undefined;
}

export class ShortLivedMap<Key, T> {
  readonly #seats = new Map<Key, SetEntry<T>>();

  get(key: Key): T | undefined {
    return this.#seats.get(key)?.thing;
  }

  /** Adds an entry. The key must not exist yet. */
  add(key: Key, thing: T): void {
    this.#seats.set(key, { thing });
  }

  delete(key: Key): void {
    const seat = this.#seats.get(key);
    if (seat === undefined) return;
    this.#seats.delete(key);
    seat.thing = undefined;
  }

  /** Returns all entries in insertion order. */
  all(): T[] {
    return Array.from(this.#seats.values(), ({ thing }) => thing as T);
  }
}

export class ShortLivedSet<T> {
  readonly #seats = new Set<SetEntry<T>>();

  get size(): number {
    return this.#seats.size;
  }

  add(thing: T): SetEntry<T> {
    const seat: SetEntry<T> = { thing };
    this.#seats.add(seat);
    return seat;
  }

  /** Removes an entry. Has no effect if it was already removed. */
  delete(seat: SetEntry<T>): void {
    this.#seats.delete(seat);
    seat.thing = undefined;
  }

  /** Returns all items in insertion order. */
  all(): T[] {
    return Array.from(this.#seats, ({ thing }) => thing as T);
  }
}
