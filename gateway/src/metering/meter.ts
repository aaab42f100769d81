/**
 * The interface for counting tokens. There is one meter per tokenizer, chosen by the request's build. Counts are the gateway's own; a
 * node's claims are not used.
 */
import type { Channel } from "@tollgate/protocol/frames.ts";

export interface ChatMessage {
  role: string;
  content: string;
}

export type Prompt =
  | { kind: "chat"; messages: ChatMessage[] }
  | { kind: "text"; text: string }
  /** For embeddings: each element is counted separately and must fit the context. */
  | { kind: "texts"; texts: string[] };

export interface PromptCount {
  /** The prompt's tokens; a lower bound when `over` is set. */
  tokens: number;
  /** Set when the prompt (for `texts`: an element) is over `limit`. Counting stopped there. */
  over: OverLimit | null;
}

interface OverLimit {
  /** The index in `texts`; otherwise 0. */
  index: number;
  /** The prompt's tokens, or a lower bound if counting stopped early. */
  tokens: number;
  isExact: boolean;
}

export interface OutputCount {
  answerTokens: number;
  reasoningTokens: number;
}

/** Counts an answer while it streams and enforces its cap. */
export interface OutputMeter {
  /** Takes text from the node and returns the part within the cap. */
  push(channel: Channel, text: string): string;
  /** The cap is reached, so no more text passes. */
  readonly full: boolean;
  /** The exact counts of everything that `push` returned. Their sum never exceeds the cap. */
  end(): OutputCount;
}

export interface Meter {
  /** The tokenizer's name and the SHA-256 of its data, as recorded in the history. */
  readonly tokenizer: string;
  readonly tokenizerSha256: string;
  /** `payer`: the account that pays. Text that it sent before is not counted again. Undefined: no cache. */
  countPrompt(prompt: Prompt, limit: number, payer?: string): Promise<PromptCount>;
  openOutput(tokensMax: number): OutputMeter;
}
