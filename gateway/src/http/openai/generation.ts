/** What chat and completions share: the decoding parameters, the form of the answer and the shape of usage. */
import type { Usage as UsageObject } from "@tollgate/api/public/answers.ts";
import type { ChatRequest, CompletionRequest } from "@tollgate/api/public/fields.ts";
import type { OutputFormat, Sampling } from "@tollgate/protocol/frames.ts";
import type { z } from "zod";
import type { Ask, Usage } from "../../inference/endpoint.ts";

type Generation = z.output<typeof ChatRequest> | z.output<typeof CompletionRequest>;

export function generationAsk(fields: Generation): Omit<Ask, "prompt" | "promptField" | "body" | "vectorsDue"> {
  return {
    model: fields.model,
    stream: fields.stream ?? false,
    includeUsage: fields.stream === true && fields.stream_options?.include_usage === true,
    outputTokensMax: fields.max_completion_tokens ?? fields.max_tokens,
    sampling: sampling(fields),
    formatted: "format" in formatOf(fields),
    vectorsAs: "floats",
  };
}

/** As the job's body carries it. Any text will do: nothing is carried. */
export function formatOf({ response_format: asked }: Generation): { format?: OutputFormat } {
  if (asked === undefined || asked.type === "text") return {};
  if (asked.type === "json_object") return { format: { type: "json_object" } };
  const { name, schema, strict } = asked.json_schema;
  return { format: { type: "json_schema", name, schema, ...(strict != null && { strict }) } };
}

function sampling(fields: Generation): Sampling {
  const { temperature, top_p, presence_penalty, frequency_penalty, seed, stop } = fields;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { top_p }),
    ...(presence_penalty !== undefined && { presence_penalty }),
    ...(frequency_penalty !== undefined && { frequency_penalty }),
    ...(seed !== undefined && { seed }),
    ...(stop !== undefined && { stop: typeof stop === "string" ? [stop] : stop }),
  };
}

export function usageObject({ promptTokens, completionTokens }: Usage): z.input<typeof UsageObject> {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}
