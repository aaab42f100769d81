/**
 * Converts a model's tokens to deltas of whole characters. Thinking is separated from the answer, and the answer ends
 * before a stop string.
 */
import type { OutputChannel } from "@tollgate/protocol/frames.ts";
import { StopStringMatcher } from "@tollgate/protocol/stop-strings.ts";

/** A character consists of at most four byte tokens. A longer sequence that is still invalid never becomes text. */
const BYTE_TOKENS_MAX = 4;
const CONTEXT_TOKENS = 4;
const INCOMPLETE = "\ufffd";

/** The tokens that enclose thinking. */
export interface ThinkingMarks<Token> {
  open: Token;
  close: Token;
}

interface OutputDecoderOptions<Token> {
  detokenize(tokens: Token[], before: Token[]): string;
  /** Only set for models whose thinking is separated from the answer. */
  thinking: ThinkingMarks<Token> | undefined;
  /** Whether the prompt ended with the opening mark, so that the output begins with thinking. */
  startsThinking?: boolean;
  stop: readonly string[] | undefined;
  emit(channel: OutputChannel, text: string): void;
}

export class OutputDecoder<Token> {
  readonly #options: OutputDecoderOptions<Token>;
  readonly #stops: StopStringMatcher;
  #channel: OutputChannel;
  #pending: Token[] = [];
  #before: Token[] = [];

  constructor(options: OutputDecoderOptions<Token>) {
    this.#options = options;
    this.#stops = new StopStringMatcher(options.stop);
    this.#channel = options.startsThinking ? "reasoning" : "answer";
  }

  get isThinking(): boolean {
    return this.#channel === "reasoning";
  }

  /** Adds a token. Returns true if a stop string ended the answer. */
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

  /** Called when the model has ended its output. */
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

  #emit(channel: OutputChannel, text: string): void {
    if (text !== "") this.#options.emit(channel, text);
  }

  #text(): string {
    return this.#options.detokenize(this.#pending, this.#before);
  }
}
