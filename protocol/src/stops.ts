/**
 * Cuts output before the first completed stop string. The agent does this for engines that do not, and the gateway always. If two are
 * completed by the same character the longer one counts, which leaves less text. Each character advances every matcher once
 * (Knuth-Morris-Pratt), so the work is linear in the output. Only an end of the text that may begin a stop string is held back.
 */

interface Cut {
  /** The text to pass on. */
  text: string;
  /** A stop string was completed, so the output ends. */
  stopped: boolean;
}

interface Pattern {
  stop: string;
  /** For each matched length, the next shorter prefix that is also a suffix of it. */
  shorter: Uint16Array;
}

export class StopMatcher {
  readonly #patterns: readonly Pattern[];
  /** The matched length of each stop string at the end of the text. */
  readonly #matched: Uint16Array;
  /** Text that may begin a stop string. */
  #held = "";
  #stopped = false;
  /** The steps of all matchers so far, as a measure of work. */
  steps = 0;

  constructor(stops: readonly string[] = []) {
    // Output is well-formed, so a stop string with an unpaired surrogate could only match within a character.
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

  /** The output ended, so the held-back text is not part of a stop string. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    this.#matched.fill(0);
    return rest;
  }

  /** The length of the longest stop string that this character completes; 0 if it completes none. */
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
