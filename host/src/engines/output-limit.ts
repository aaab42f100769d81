/**
 * Detects an engine that ignores its output cap. The gateway counts tokens exactly; this check only stops runaway
 * output, without a tokenizer. It estimates the tokens as the number of events or an eighth of the characters,
 * whichever is smaller. The estimate never exceeds the true number.
 */
const CHARS_PER_TOKEN = 8;
/** A tolerance, because some engines send a token in two events. */
const SLACK_TOKENS = 64;

export class OutputLimit {
  readonly #contextTokens: number | undefined;
  #tokensMax: number;
  #events = 0;
  #chars = 0;

  constructor(outputTokensMax: number, contextTokens: number | undefined) {
    this.#contextTokens = contextTokens;
    this.#tokensMax = Math.min(outputTokensMax, contextTokens ?? Number.POSITIVE_INFINITY);
  }

  /** Limits the output to the rest of the context, once the engine has reported the length of the prompt. */
  promptIs(tokens: number): void {
    if (this.#contextTokens === undefined) return;
    this.#tokensMax = Math.min(this.#tokensMax, Math.max(0, this.#contextTokens - tokens));
  }

  /** Counts the text of one event. Returns whether the cap is exceeded. */
  exceededBy(chars: number): boolean {
    this.#events++;
    this.#chars += chars;
    return Math.min(this.#events, this.#chars / CHARS_PER_TOKEN) > this.#tokensMax + SLACK_TOKENS;
  }
}
