/** The largest number reported within a time window. */
export class RecentMaximum {
  readonly #forMs: number;
  /** Oldest first, in decreasing order: a value below a later one can never be the largest again. */
  readonly #told: { at: number; value: number }[] = [];

  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  note(value: number, at: number): void {
    while ((this.#told.at(-1)?.value ?? Number.POSITIVE_INFINITY) <= value) this.#told.pop();
    this.#told.push({ at, value });
  }

  /** Zero when the window has no value. */
  at(now: number): number {
    while ((this.#told[0]?.at ?? now) < now - this.#forMs) this.#told.shift();
    return this.#told[0]?.value ?? 0;
  }
}
