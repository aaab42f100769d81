/** Turns the demo model's tokens into deltas: whole characters, thinking apart from the answer, cut at stop strings. */
import type { Channel } from "@tollgate/protocol/frames.ts";
import { StopStrings } from "./stops.ts";

/** A character takes at most four byte tokens; what is not text by then never will be. */
const BYTE_TOKENS_MAX = 4;
const CONTEXT_TOKENS = 4;
const INCOMPLETE = "\ufffd";

export interface VoiceOptions<Token> {
  detokenize(tokens: Token[], before: Token[]): string;
  /** The tokens around thinking, for a model whose thinking is kept apart. */
  thinking: { open: Token; close: Token } | undefined;
  stop: readonly string[] | undefined;
  say(channel: Channel, text: string): void;
}

export class DemoVoice<Token> {
  readonly #options: VoiceOptions<Token>;
  readonly #stops: StopStrings;
  #channel: Channel = "answer";
  #pending: Token[] = [];
  #before: Token[] = [];

  constructor(options: VoiceOptions<Token>) {
    this.#options = options;
    this.#stops = new StopStrings(options.stop);
  }

  /** True when a stop string came and the answer is over. */
  push(token: Token): boolean {
    const { thinking } = this.#options;
    if (thinking !== undefined && (token === thinking.open || token === thinking.close)) {
      const stopped = this.#speak();
      this.#channel = token === thinking.open ? "reasoning" : "answer";
      return stopped;
    }
    this.#pending.push(token);
    const cutCharacter = this.#pending.length < BYTE_TOKENS_MAX && this.#text().endsWith(INCOMPLETE);
    return cutCharacter ? false : this.#speak();
  }

  /** The model has ended. */
  end(): void {
    if (!this.#speak()) this.#say("answer", this.#stops.flush());
  }

  #speak(): boolean {
    if (this.#pending.length === 0) return false;
    const text = this.#text();
    this.#before = [...this.#before, ...this.#pending].slice(-CONTEXT_TOKENS);
    this.#pending = [];
    const cut = this.#channel === "answer" ? this.#stops.push(text) : { text, stopped: false };
    this.#say(this.#channel, cut.text);
    return cut.stopped;
  }

  #say(channel: Channel, text: string): void {
    if (text !== "") this.#options.say(channel, text);
  }

  #text(): string {
    return this.#options.detokenize(this.#pending, this.#before);
  }
}
