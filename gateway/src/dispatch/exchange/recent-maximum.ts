/** The largest of the numbers reported within a time window. */
export class RecentMaximum {
  readonly #forMs: number;
  /**
   * Reports from oldest to newest, with decreasing values: a value below a later one can never be the maximum again.
   */
  readonly #told: { at: number; value: number }[] = [];

  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  note(value: number, at: number): void {
    while ((this.#told.at(-1)?.value ?? Number.POSITIVE_INFINITY) <= value) this.#told.pop();
    this.#told.push({ at, value });
  }

  /** The maximum within the window; 0 if there are no reports. */
  at(now: number): number {
    while ((this.#told[0]?.at ?? now) < now - this.#forMs) this.#told.shift();
    return this.#told[0]?.value ?? 0;
  }
}
