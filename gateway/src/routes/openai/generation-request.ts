/** Shared by chat and completions: sampling options, response format, ignored fields, and the usage object. */

import { IGNORED_FIELDS } from "@tollgate/api/public/ignored-fields.ts";
import type { ChatRequest, CompletionRequest } from "@tollgate/api/public/request-fields.ts";
import type { Usage as UsageObject } from "@tollgate/api/public/response-schemas.ts";
import type { OutputFormat, Sampling } from "@tollgate/protocol/frames.ts";
import { type KeywordUse, readSchema } from "@tollgate/protocol/json-schema.ts";
import type { z } from "zod";
import { invalidRequest } from "../../faults.ts";
import { listPresentFields } from "../../http/parse-fields.ts";
import type { ParsedRequest, Usage } from "../../inference/endpoint.ts";
import { SCHEMA_FIELD } from "../../inference/schema-support.ts";
import { readRequestLabel } from "./request-label.ts";

const IGNORED_UNSTREAMED: readonly string[] = [...IGNORED_FIELDS, "stream_options"];

type Generation = z.output<typeof ChatRequest> | z.output<typeof CompletionRequest>;

/** Builds the request from the parsed fields and the original body. */
export function makeGenerationRequest(
  fields: Generation,
  body: unknown,
): Omit<ParsedRequest, "prompt" | "promptField" | "body" | "vectorsDue"> {
  const stream = fields.stream ?? false;
  return {
    model: fields.model,
    stream,
    includeUsage: stream && fields.stream_options?.include_usage === true,
    outputTokensMax: fields.max_completion_tokens ?? fields.max_tokens,
    sampling: sampling(fields),
    formatted: "format" in convertOutputFormat(fields),
    keywords: keywordsOf(fields),
    vectorsAs: "floats",
    ...readRequestLabel(body),
    ignored: listPresentFields(body, stream ? IGNORED_FIELDS : IGNORED_UNSTREAMED),
  };
}

/** Prepares the body for validation: removes stream options, unless the request streams. */
export function removeUnusedStreamOptions(body: unknown): unknown {
  if (typeof body !== "object" || body === null || !("stream_options" in body)) return body;
  return "stream" in body && body.stream === true ? body : { ...body, stream_options: null };
}

/** The output format in the job's body. Plain text needs none. */
export function convertOutputFormat({ response_format: asked }: Generation): { format?: OutputFormat } {
  if (asked === undefined || asked.type === "text") return {};
  if (asked.type === "json_object") return { format: { type: "json_object" } };
  const { name, schema, strict } = asked.json_schema;
  return { format: { type: "json_schema", name, schema, ...(strict != null && { strict }) } };
}

/**
 * The JSON Schema keywords that an engine must enforce. A schema that is invalid or too large is refused before it
 * reaches an engine.
 */
function keywordsOf({ response_format: asked }: Generation): KeywordUse[] {
  if (asked?.type !== "json_schema") return [];
  const reading = readSchema(asked.json_schema.schema);
  if (reading.isValid) return reading.uses;
  // Stored with the refused request instead of the message to the client. The position is left out, because it contains
  // the client's own property names.
  const about = { message: `"${SCHEMA_FIELD}" is not valid` };
  throw invalidRequest(
    SCHEMA_FIELD,
    `"${SCHEMA_FIELD}" is not valid at ${reading.place}: ${reading.rule}`,
    undefined,
    about,
  );
}

/** Copies only the sampling options that the client sent. */
function sampling({ temperature, top_p, presence_penalty, frequency_penalty, seed, stop }: Generation): Sampling {
  const said: Sampling = {};
  if (temperature !== undefined) said.temperature = temperature;
  if (top_p !== undefined) said.top_p = top_p;
  if (presence_penalty !== undefined) said.presence_penalty = presence_penalty;
  if (frequency_penalty !== undefined) said.frequency_penalty = frequency_penalty;
  if (seed !== undefined) said.seed = seed;
  if (stop !== undefined && stop.length > 0) said.stop = typeof stop === "string" ? [stop] : stop;
  return said;
}

export function usageObject(usage: Usage): z.input<typeof UsageObject> {
  const { promptTokens, completionTokens, reasoningTokens } = usage;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(reasoningTokens !== undefined && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  };
}
