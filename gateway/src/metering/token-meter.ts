/**
 * The interface for counting tokens. There is one meter per tokenizer, and the model's build names the tokenizer. Only
 * the gateway's own counts are used, never those that a node reports.
 */
import type { OutputChannel } from "@tollgate/protocol/frames.ts";

export interface ChatMessage {
  role: string;
  content: string;
}

export type Prompt =
  | { kind: "chat"; messages: ChatMessage[] }
  | { kind: "text"; text: string }
  /** For embeddings. Each text is counted separately and must fit the context. */
  | { kind: "texts"; texts: string[] };

export interface PromptCount {
  /** The number of prompt tokens. A lower bound when `over` is set. */
  tokens: number;
  /** Set when the prompt (for `texts`: one text) exceeds `limit`. Counting stopped there. */
  over: OverLimit | null;
}

interface OverLimit {
  /** The index of the text in `texts`. 0 for other prompts. */
  index: number;
  /** The number of its tokens, or a lower bound if counting stopped early. */
  tokens: number;
  isExact: boolean;
}

export interface OutputCount {
  answerTokens: number;
  reasoningTokens: number;
}

/** Counts an answer while it streams, and cuts it at its output cap. */
export interface OutputTokenMeter {
  /** Takes text from the node. Returns the part that is within the cap. */
  push(channel: OutputChannel, text: string): string;
  /** Whether the cap is reached. If so, no more text passes. */
  readonly full: boolean;
  /** Returns the exact counts of all text that `push` returned. Their sum never exceeds the cap. */
  end(): OutputCount;
}

export interface TokenMeter {
  /** The tokenizer's name and the SHA-256 of its data, as stored in the request history. */
  readonly tokenizer: string;
  readonly tokenizerSha256: string;
  /** `payer`: the account that pays. Its cached counts are used for text that it sent before. Undefined: no cache. */
  countPrompt(prompt: Prompt, limit: number, payer?: string): Promise<PromptCount>;
  openOutput(tokensMax: number): OutputTokenMeter;
}
