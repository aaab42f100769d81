/**
 * Counters for /metrics as plain numbers. Counting costs a map lookup and an addition; formatting is left to the
 * scrape.
 */

/** A histogram with fixed bounds. */
export class Histogram {
  /** Upper bounds in ascending order. Values above the last bound are only in the sum and the count. */
  readonly bounds: readonly number[];
  /** The number of values for each bound, and at the end for values above all bounds. */
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

/**
 * One object for each value of a label. A label must have few values, so callers must never pass text that clients
 * choose.
 */
export class ValuePerLabel<Value> {
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

/** A counter for each value of a label. A label must have few values. */
export class LabelledCounts {
  readonly #counts = new Map<string, number>();

  add(word: string, by = 1): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + by);
  }

  entries(): Iterable<[string, number]> {
    return this.#counts;
  }
}
