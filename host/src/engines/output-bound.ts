/**
 * Whether an engine has gone on past the cap it was given. The gateway counts and stops it to the token; this only ends what
 * heeds no cap at all, by what can be told without a tokenizer. An event is at least one token in most engines, and eight
 * characters are in most texts; the smaller of the two is not more than what was said in any.
 */
const CHARS_PER_TOKEN = 8;
/** Some engines say one token in two events now and then. */
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

  /** The engine told how many tokens the prompt has: no more is left than the rest of the context. */
  promptIs(tokens: number): void {
    if (this.#contextTokens === undefined) return;
    this.#tokensMax = Math.min(this.#tokensMax, Math.max(0, this.#contextTokens - tokens));
  }

  /** Takes in one event's text, and says whether it is too much now. */
  exceededBy(chars: number): boolean {
    this.#events++;
    this.#chars += chars;
    return Math.min(this.#events, this.#chars / CHARS_PER_TOKEN) > this.#tokensMax + SLACK_TOKENS;
  }
}
