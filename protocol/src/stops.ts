/**
 * Cuts output before the stop string that is complete first. The agent does it for engines that do not, the gateway whatever the
 * agent did. Of two that are complete with the same character the longer counts, as the text before it is the shorter.
 *
 * Every character moves each stop string's matcher once (Knuth, Morris and Pratt), so the work grows with the output and
 * not with the strings, whatever they are. Held back is only an end of the text that begins a stop string: text that
 * does not is passed on as it comes.
 */

interface Cut {
  /** What may be shown. */
  text: string;
  /** A stop string is complete: nothing after it is output. */
  stopped: boolean;
}

interface Pattern {
  stop: string;
  /** For each length of a matched beginning, the next shorter beginning that is also an end of it. */
  shorter: Uint16Array;
}

export class StopMatcher {
  readonly #patterns: readonly Pattern[];
  /** How much of each stop string the text ends with. */
  readonly #matched: Uint16Array;
  /** The end of the text that begins a stop string. */
  #held = "";
  #stopped = false;
  /** Steps of all matchers so far: a measure of the work done. */
  steps = 0;

  constructor(stops: readonly string[] = []) {
    // Output is well-formed, so a string with half a character in it can only match in the middle of another one.
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

  /** The output ended: what was held back was no stop string. */
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
