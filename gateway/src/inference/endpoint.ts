/**
 * What tells chat, completions and embeddings apart: how to parse, what to count, how to answer. Everything else is one
 * path, serve.ts.
 */

import type { JobBody, Sampling, Endpoint as WireEndpoint } from "@tollgate/protocol/frames.ts";
import type { KeywordUse } from "@tollgate/protocol/json-schema.ts";
import type { FinishReason, ModelKind } from "../base/states.ts";
import type { Prompt } from "../metering/meter.ts";

export interface Endpoint {
  name: WireEndpoint;
  /** Whose fields its bodies have: what another thread is told in place of `parse`. */
  schema: "chat" | "completion" | "embedding" | "quote";
  kind: ModelKind;
  /** Checks the fields; throws the 400 that names the first wrong one. */
  parse(body: unknown, sdk?: Sdk | null): Ask;
  /** The whole answer as JSON text. */
  whole(meta: AnswerMeta, answer: Answer, ask?: Pick<Ask, "vectorsAs">): string;
  /** The same in parts, for an endpoint whose answers may be too long to be built in one go. */
  parts?(meta: AnswerMeta, answer: Answer, ask?: Pick<Ask, "vectorsAs">): Iterable<string>;
  /** Writes the events of a stream; null for an endpoint that has none. */
  stream: ((meta: AnswerMeta, options: { includeUsage: boolean }) => StreamWriter) | null;
}

/** What a client's own library says of itself. */
export interface Sdk {
  language: string;
  version: string;
}

/** A request whose fields are in order. */
export interface Ask {
  model: string;
  prompt: Prompt;
  /** The field that holds the prompt, for messages about it. */
  promptField: "messages" | "prompt" | "input";
  /** What the node is sent; encoded where another thread has done that. */
  body: JobBody | Uint8Array;
  /** How many vectors are due: one for each input of an embedding. */
  vectorsDue: number;
  stream: boolean;
  includeUsage: boolean;
  outputTokensMax: number | undefined;
  sampling: Sampling;
  /** The builder's own word for what the request is for; spend is shown by it. Stored only for keys whose owner turned labels on. */
  label: string | null;
  /** The field that it came from. */
  labelField: "metadata" | "user" | null;
  /** Fields of the dialect that were sent and change nothing about the answer. */
  ignored: string[];
  /** The body asks for an output format: only nodes whose engine keeps to one can take it. */
  formatted: boolean;
  /** The keywords of its schema that the engine must enforce. */
  keywords: KeywordUse[];
  /** Always floats, but for clients that cannot read them (EMBEDDINGS_BASE64_COMPAT). */
  vectorsAs: "floats" | "base64";
}

export interface AnswerMeta {
  /** The request's 26 characters, which also make the answer's id. */
  suffix: string;
  /** Unix seconds. */
  created: number;
  model: string;
  /** The key's owner wants thinking in `reasoning_content` too, in streams as it comes. */
  reasoningContent?: boolean;
}

export interface Usage {
  promptTokens: number;
  completionTokens: number;
  /** The part of the completion that was thinking. Undefined for a model that does not think apart. */
  reasoningTokens?: number | undefined;
}

export interface Answer {
  text: string;
  /** Undefined for a model that does not think apart. */
  reasoning: string | undefined;
  finish: FinishReason;
  vectors: Float32Array[];
  usage: Usage;
}

/** Each returns the JSON text of one event. */
export interface StreamWriter {
  /** Before any output; null when the format has no such event. */
  open(): string | null;
  delta(text: string): string;
  /** Thinking as it comes; null where none is sent before the end. */
  thought: ((text: string) => string) | null;
  finish(answer: Pick<Answer, "finish" | "reasoning">): string;
  usage(usage: Usage): string;
}
