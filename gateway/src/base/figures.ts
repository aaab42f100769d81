/**
 * Figures for /metrics, kept as plain numbers: to count costs a look into a map and an addition, and only who reads them pays
 * for putting them into words.
 */

/** How values spread over fixed bounds. */
export class Distribution {
  /** Upper ends, in order. What is beyond the last is in the sum and the count only. */
  readonly bounds: readonly number[];
  /** One for each bound, and one for what is beyond. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > (this.bounds[at] as number)) at += 1;
    this.counts[at] = (this.counts[at] as number) + 1;
    this.sum += value;
  }
}

/** One of something for each of a few words: the words are bounded by who calls, never a client's to choose. */
export class PerWord<Value> {
  readonly #values = new Map<string, Value>();
  readonly #make: () => Value;

  constructor(make: () => Value) {
    this.#make = make;
  }

  of(word: string): Value {
    const known = this.#values.get(word);
    if (known !== undefined) return known;
    const made = this.#make();
    this.#values.set(word, made);
    return made;
  }

  entries(): Iterable<[string, Value]> {
    return this.#values;
  }
}

/** How often each of a few words came. */
export class Counts {
  readonly #counts = new Map<string, number>();

  add(word: string, by = 1): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + by);
  }

  entries(): Iterable<[string, number]> {
    return this.#counts;
  }
}
