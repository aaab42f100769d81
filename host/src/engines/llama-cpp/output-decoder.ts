/** Turns a model's tokens into deltas: whole characters, thinking apart from the answer, cut at stop strings. */
import type { Channel } from "@tollgate/protocol/frames.ts";
import { StopMatcher } from "@tollgate/protocol/stops.ts";

/** A character takes at most four byte tokens; what is not text by then never will be. */
const BYTE_TOKENS_MAX = 4;
const CONTEXT_TOKENS = 4;
const INCOMPLETE = "\ufffd";

/** The tokens around thinking. */
export interface ThinkingMarks<Token> {
  open: Token;
  close: Token;
}

interface OutputDecoderOptions<Token> {
  detokenize(tokens: Token[], before: Token[]): string;
  /** For a model whose thinking is kept apart. */
  thinking: ThinkingMarks<Token> | undefined;
  /** The prompt ended with the opening mark: the model thinks from its first token on. */
  startsThinking?: boolean;
  stop: readonly string[] | undefined;
  emit(channel: Channel, text: string): void;
}

export class OutputDecoder<Token> {
  readonly #options: OutputDecoderOptions<Token>;
  readonly #stops: StopMatcher;
  #channel: Channel;
  #pending: Token[] = [];
  #before: Token[] = [];

  constructor(options: OutputDecoderOptions<Token>) {
    this.#options = options;
    this.#stops = new StopMatcher(options.stop);
    this.#channel = options.startsThinking ? "reasoning" : "answer";
  }

  get isThinking(): boolean {
    return this.#channel === "reasoning";
  }

  /** True when a stop string came and the answer is over. */
  push(token: Token): boolean {
    const { thinking } = this.#options;
    if (thinking !== undefined && (token === thinking.open || token === thinking.close)) {
      const stopped = this.#decode();
      this.#channel = token === thinking.open ? "reasoning" : "answer";
      return stopped;
    }
    this.#pending.push(token);
    const cutCharacter = this.#pending.length < BYTE_TOKENS_MAX && this.#text().endsWith(INCOMPLETE);
    return cutCharacter ? false : this.#decode();
  }

  /** The model has ended. */
  end(): void {
    if (!this.#decode()) this.#emit("answer", this.#stops.end());
  }

  #decode(): boolean {
    if (this.#pending.length === 0) return false;
    const text = this.#text();
    this.#before = [...this.#before, ...this.#pending].slice(-CONTEXT_TOKENS);
    this.#pending = [];
    const cut = this.#channel === "answer" ? this.#stops.push(text) : { text, stopped: false };
    this.#emit(this.#channel, cut.text);
    return cut.stopped;
  }

  #emit(channel: Channel, text: string): void {
    if (text !== "") this.#options.emit(channel, text);
  }

  #text(): string {
    return this.#options.detokenize(this.#pending, this.#before);
  }
}
