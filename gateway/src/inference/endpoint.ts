/**
 * The differences between chat, completions and embeddings in parsing, counting and answering. serve.ts has everything
 * that they share.
 */

import type { JobBody, Sampling, Endpoint as WireEndpoint } from "@tollgate/protocol/frames.ts";
import type { KeywordUse } from "@tollgate/protocol/json-schema.ts";
import type { FinishReason, ModelKind } from "../base/stored-enumerations.ts";
import type { Prompt } from "../metering/token-meter.ts";

export interface Endpoint {
  name: WireEndpoint;
  /** The name of the body's schema. It is sent to worker threads, which cannot receive the function `parse`. */
  schema: "chat" | "completion" | "embedding" | "quote";
  kind: ModelKind;
  /** Validates the fields. Throws a 400 that names the first invalid field. */
  parse(body: unknown, sdk?: ClientSdk | null): ParsedRequest;
  /** The whole answer as JSON text. */
  whole(meta: AnswerMeta, answer: Answer, ask?: Pick<ParsedRequest, "vectorsAs">): string;
  /** The answer in parts, if it may be too large to build at once. */
  parts?(meta: AnswerMeta, answer: Answer, ask?: Pick<ParsedRequest, "vectorsAs">): Iterable<string>;
  /** Creates the writer of a stream's events; null if the endpoint has no streams. */
  stream: ((meta: AnswerMeta, options: { includeUsage: boolean }) => StreamWriter) | null;
}

/** The client's library, as its headers identify it. */
export interface ClientSdk {
  language: string;
  version: string;
}

/** A request with valid fields. */
export interface ParsedRequest {
  model: string;
  prompt: Prompt;
  /** The field that has the prompt, for error messages. */
  promptField: "messages" | "prompt" | "input";
  /** The job's body for the node; bytes if another thread has encoded it. */
  body: JobBody | Uint8Array;
  /** The expected number of vectors: one per input of an embedding. */
  vectorsDue: number;
  stream: boolean;
  includeUsage: boolean;
  outputTokensMax: number | undefined;
  sampling: Sampling;
  /**
   * The builder's label for the request, used to group spending. It is stored only if the API key has labels enabled.
   */
  label: string | null;
  /** The field from which the label was read. */
  labelField: "metadata" | "user" | null;
  /** Fields of the request that have no effect. */
  ignored: string[];
  /** Whether the request has an output format. Then only nodes whose engine enforces formats can serve it. */
  formatted: boolean;
  /** The JSON Schema keywords that the node's engine must enforce. */
  keywords: KeywordUse[];
  /** The format of vectors: floats, except for clients that cannot decode them (EMBEDDINGS_BASE64_COMPAT). */
  vectorsAs: "floats" | "base64";
}

export interface AnswerMeta {
  /** The 26 characters of the request ID, which are also part of the answer's ID. */
  suffix: string;
  /** The time in Unix seconds. */
  created: number;
  model: string;
  /** Whether the key's owner enabled `reasoning_content`, which also applies to streams. */
  reasoningContent?: boolean;
}

export interface Usage {
  promptTokens: number;
  completionTokens: number;
  /** The part of the completion tokens that was thinking. Undefined for a model without separate thinking. */
  reasoningTokens?: number | undefined;
}

export interface Answer {
  text: string;
  /** The thinking. Undefined for a model without separate thinking. */
  reasoning: string | undefined;
  finish: FinishReason;
  vectors: Float32Array[];
  usage: Usage;
}

/** Writes a stream's events. Each method returns the JSON of one event. */
export interface StreamWriter {
  /** The first event, sent before any output; null if the format has none. */
  open(): string | null;
  delta(text: string): string;
  /** An event with thinking; null if thinking is only sent at the end. */
  thought: ((text: string) => string) | null;
  finish(answer: Pick<Answer, "finish" | "reasoning">): string;
  usage(usage: Usage): string;
}
