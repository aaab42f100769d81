/** Cuts a stream of text before the stop string that is complete first. Stop strings may come in pieces. */
export class StopStrings {
  readonly #stops: readonly string[];
  readonly #longest: number;
  #held = "";

  constructor(stops: readonly string[] = []) {
    this.#stops = stops;
    this.#longest = Math.max(0, ...stops.map((stop) => stop.length));
  }

  /** What may be shown of the text so far. Text that could begin a stop string is held back until more is known. */
  push(text: string): { text: string; stopped: boolean } {
    if (this.#longest === 0) return { text, stopped: false };
    const seen = this.#held + text;
    const at = this.#firstIn(seen);
    if (at !== undefined) {
      this.#held = "";
      return { text: seen.slice(0, at), stopped: true };
    }
    const keep = this.#beginning(seen);
    this.#held = seen.slice(seen.length - keep);
    return { text: seen.slice(0, seen.length - keep), stopped: false };
  }

  /** The stream ended: what was held back was no stop string after all. */
  flush(): string {
    const rest = this.#held;
    this.#held = "";
    return rest;
  }

  /** Where the stop string begins that ends first; of two that end together, the longer. */
  #firstIn(seen: string): number | undefined {
    let first: { from: number; to: number } | undefined;
    for (const stop of this.#stops) {
      const from = seen.indexOf(stop);
      const to = from + stop.length;
      if (from === -1) continue;
      if (first === undefined || to < first.to || (to === first.to && from < first.from)) first = { from, to };
    }
    return first?.from;
  }

  /** The length of the longest end of `seen` that begins a stop string. */
  #beginning(seen: string): number {
    for (let length = Math.min(this.#longest - 1, seen.length); length > 0; length--) {
      const end = seen.slice(seen.length - length);
      if (this.#stops.some((stop) => stop.startsWith(end))) return length;
    }
    return 0;
  }
}
