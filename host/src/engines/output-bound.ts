/**
 * Detects an engine that ignores its cap. The gateway counts exactly; this only stops runaway output, without a tokenizer. The estimate is
 * the smaller of the number of events and an eighth of the characters, which is never above the true number of tokens.
 */
const CHARS_PER_TOKEN = 8;
/** Some engines sometimes send a token in two events. */
const SLACK_TOKENS = 64;

export class OutputBound {
  readonly #contextTokens: number | undefined;
  #tokensMax: number;
  #events = 0;
  #chars = 0;

  constructor(outputTokensMax: number, contextTokens: number | undefined) {
    this.#contextTokens = contextTokens;
    this.#tokensMax = Math.min(outputTokensMax, contextTokens ?? Number.POSITIVE_INFINITY);
  }

  /** The engine reported the prompt's tokens, so the output is limited to the rest of the context. */
  promptIs(tokens: number): void {
    if (this.#contextTokens === undefined) return;
    this.#tokensMax = Math.min(this.#tokensMax, Math.max(0, this.#contextTokens - tokens));
  }

  /** Counts one event's text, and returns whether the cap is exceeded. */
  exceededBy(chars: number): boolean {
    this.#events++;
    this.#chars += chars;
    return Math.min(this.#events, this.#chars / CHARS_PER_TOKEN) > this.#tokensMax + SLACK_TOKENS;
  }
}
