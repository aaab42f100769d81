/** The differences between chat, completions and embeddings: parsing, counting and answering. Everything else is shared in serve.ts. */

import type { JobBody, Sampling, Endpoint as WireEndpoint } from "@tollgate/protocol/frames.ts";
import type { KeywordUse } from "@tollgate/protocol/json-schema.ts";
import type { FinishReason, ModelKind } from "../base/states.ts";
import type { Prompt } from "../metering/meter.ts";

export interface Endpoint {
  name: WireEndpoint;
  /** The schema of its bodies, for another thread, which cannot receive `parse`. */
  schema: "chat" | "completion" | "embedding" | "quote";
  kind: ModelKind;
  /** Validates the fields; throws a 400 that names the first invalid one. */
  parse(body: unknown, sdk?: Sdk | null): Ask;
  /** The whole answer as JSON text. */
  whole(meta: AnswerMeta, answer: Answer, ask?: Pick<Ask, "vectorsAs">): string;
  /** The answer in parts, for an endpoint whose answers may be too large to build at once. */
  parts?(meta: AnswerMeta, answer: Answer, ask?: Pick<Ask, "vectorsAs">): Iterable<string>;
  /** Writes the events of a stream; null for an endpoint without streams. */
  stream: ((meta: AnswerMeta, options: { includeUsage: boolean }) => StreamWriter) | null;
}

/** The client's library, as it identifies itself. */
export interface Sdk {
  language: string;
  version: string;
}

/** A request with valid fields. */
export interface Ask {
  model: string;
  prompt: Prompt;
  /** The name of the prompt's field, for messages. */
  promptField: "messages" | "prompt" | "input";
  /** The body for the node; already encoded by another thread if it is bytes. */
  body: JobBody | Uint8Array;
  /** The number of expected vectors: one per input of an embedding. */
  vectorsDue: number;
  stream: boolean;
  includeUsage: boolean;
  outputTokensMax: number | undefined;
  sampling: Sampling;
  /** The builder's label for the request, by which spending is shown. Stored only for keys with labels enabled. */
  label: string | null;
  /** The field of the label. */
  labelField: "metadata" | "user" | null;
  /** Fields that were sent and have no effect. */
  ignored: string[];
  /** The request has an output format, so only nodes whose engine enforces one can serve it. */
  formatted: boolean;
  /** The schema keywords that the engine must enforce. */
  keywords: KeywordUse[];
  /** Floats, except for clients that cannot read them (EMBEDDINGS_BASE64_COMPAT). */
  vectorsAs: "floats" | "base64";
}

export interface AnswerMeta {
  /** The request's 26 characters, which are also in the answer's id. */
  suffix: string;
  /** Unix seconds. */
  created: number;
  model: string;
  /** The key's owner enabled `reasoning_content`, also in streams. */
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
  /** Undefined for a model without separate thinking. */
  reasoning: string | undefined;
  finish: FinishReason;
  vectors: Float32Array[];
  usage: Usage;
}

/** Each method returns the JSON of one event. */
export interface StreamWriter {
  /** The event before any output; null when the format has none. */
  open(): string | null;
  delta(text: string): string;
  /** An event with thinking; null when thinking is sent only at the end. */
  thought: ((text: string) => string) | null;
  finish(answer: Pick<Answer, "finish" | "reasoning">): string;
  usage(usage: Usage): string;
}
