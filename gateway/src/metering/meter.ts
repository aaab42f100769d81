/**
 * What the rest of the gateway sees of counting. One meter per tokenizer; a request uses the one its build names.
 * Counts are the gateway's own: text goes in, numbers come out, and nothing a node claims is looked at.
 */
import type { Channel } from "@tollgate/protocol/frames.ts";

export interface ChatMessage {
  role: string;
  content: string;
}

export type Prompt =
  | { kind: "chat"; messages: ChatMessage[] }
  | { kind: "text"; text: string }
  /** Embeddings: each element is counted alone, and each must fit the context by itself. */
  | { kind: "texts"; texts: string[] };

export interface PromptCount {
  /** The prompt's tokens. Only a lower bound when `over` is set. */
  tokens: number;
  /** Set when the prompt passed `limit` (for `texts`: an element did): nothing after it was counted. */
  over: OverLimit | null;
}

interface OverLimit {
  /** The element of `texts`; otherwise 0. */
  index: number;
  /** Its tokens, or, when counting stopped before its end, no more than it has. */
  tokens: number;
  isExact: boolean;
}

export interface OutputCount {
  answerTokens: number;
  reasoningTokens: number;
}

/** Counts one answer while it streams and holds it to its cap. */
export interface OutputMeter {
  /** Takes text as the node delivered it and returns the part within the cap: all of it, or a prefix at the cap. */
  push(channel: Channel, text: string): string;
  /** The cap is reached: nothing more will be let through. */
  readonly full: boolean;
  /** The exact counts of everything `push` let through. Their sum never exceeds the cap. */
  end(): OutputCount;
}

export interface Meter {
  /** The tokenizer's name and the SHA-256 of its data, as they stand on every history record. */
  readonly tokenizer: string;
  readonly tokenizerSha256: string;
  /** `payer`: whose prompt it is. What that one sent before is not counted again; without one nothing is remembered. */
  countPrompt(prompt: Prompt, limit: number, payer?: string): Promise<PromptCount>;
  openOutput(tokensMax: number): OutputMeter;
}
