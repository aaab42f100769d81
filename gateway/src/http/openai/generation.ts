/** What chat and completions share: the decoding parameters and the shape of usage. */
import type { Usage as UsageObject } from "@tollgate/api/public/answers.ts";
import type { ChatRequest, CompletionRequest } from "@tollgate/api/public/fields.ts";
import type { Sampling } from "@tollgate/protocol/frames.ts";
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
    vectorsAs: "floats",
  };
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
