/**
 * Cuts output before the first completed stop string. The gateway always does this, and the agent for engines that do
 * not. If one character completes two stop strings, the longer one counts, which leaves less text. Each character
 * advances every matcher once (Knuth-Morris-Pratt), so the work is linear in the output. Only an end of the text that
 * may begin a stop string is held back.
 */

interface Cut {
  /** The text to pass on. */
  text: string;
  /** Whether a stop string was completed, so that the output ends. */
  stopped: boolean;
}

interface Pattern {
  stop: string;
  /** For each matched length, the length of the longest shorter prefix that is also a suffix of the match. */
  shorter: Uint16Array;
}

export class StopStringMatcher {
  readonly #patterns: readonly Pattern[];
  /** For each stop string, how much of it matches the end of the text. */
  readonly #matched: Uint16Array;
  /** Held-back text, which may begin a stop string. */
  #held = "";
  #stopped = false;
  /** The total number of steps of all matchers, as a measure of work. */
  steps = 0;

  constructor(stops: readonly string[] = []) {
    // A stop string with an unpaired surrogate could only match within a character. Output never contains such a half,
    // so the stop string is ignored.
    this.#patterns = stops.filter((stop) => stop !== "" && stop.isWellFormed()).map(patternOf);
    this.#matched = new Uint16Array(this.#patterns.length);
  }

  push(text: string): Cut {
    if (this.#stopped) return { text: "", stopped: true };
    if (this.#patterns.length === 0) return { text, stopped: false };
    const seen = this.#held + text;
    for (let at = this.#held.length; at < seen.length; at++) {
      const complete = this.#step(seen.charCodeAt(at));
      if (complete === 0) continue;
      this.#stopped = true;
      this.#held = "";
      return { text: seen.slice(0, at + 1 - complete), stopped: true };
    }
    const begun = this.#matched.reduce((longest, length) => Math.max(longest, length), 0);
    this.#held = seen.slice(seen.length - begun);
    return { text: seen.slice(0, seen.length - begun), stopped: false };
  }

  /** Returns the held-back text at the end of the output, because it is not part of a stop string. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    this.#matched.fill(0);
    return rest;
  }

  /** Advances all matchers by one character. Returns the length of the longest completed stop string, or 0. */
  #step(unit: number): number {
    let complete = 0;
    for (let i = 0; i < this.#patterns.length; i++) {
      const { stop, shorter } = this.#patterns[i] as Pattern;
      let matched = this.#matched[i] as number;
      this.steps++;
      while (matched > 0 && stop.charCodeAt(matched) !== unit) {
        matched = shorter[matched] as number;
        this.steps++;
      }
      if (stop.charCodeAt(matched) === unit) matched++;
      this.#matched[i] = matched;
      if (matched === stop.length) complete = Math.max(complete, matched);
    }
    return complete;
  }
}

function patternOf(stop: string): Pattern {
  const shorter = new Uint16Array(stop.length + 1);
  let matched = 0;
  for (let length = 2; length <= stop.length; length++) {
    const unit = stop.charCodeAt(length - 1);
    while (matched > 0 && stop.charCodeAt(matched) !== unit) matched = shorter[matched] as number;
    if (stop.charCodeAt(matched) === unit) matched++;
    shorter[length] = matched;
  }
  return { stop, shorter };
}
