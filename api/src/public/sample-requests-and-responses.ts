/**
 * The examples in the public API's document. A test in the gateway checks that the endpoints answer with exactly these.
 */
import type { z } from "zod";
import { SAMPLE_ID_SUFFIX, SAMPLE_TIME } from "../common-schemas.ts";
import type { ChatRequest, CompletionRequest, EmbeddingRequest } from "./request-fields.ts";
import type * as answers from "./response-schemas.ts";

const QUESTION = { role: "user", content: "Name three rivers of Europe." } as const;
const ANSWER = "The Danube, the Rhine and the Volga.";
const USAGE = { prompt_tokens: 14, completion_tokens: 9, total_tokens: 23 };

export const sampleChatRequest: z.input<typeof ChatRequest> = {
  model: "small-8b",
  messages: [QUESTION],
  max_tokens: 64,
};
export const sampleStreamingChatRequest: z.input<typeof ChatRequest> = {
  ...sampleChatRequest,
  stream: true,
  stream_options: { include_usage: true },
};
export const sampleStructuredOutputRequest: z.input<typeof ChatRequest> = {
  ...sampleChatRequest,
  response_format: {
    type: "json_schema",
    json_schema: {
      name: "rivers",
      schema: {
        type: "object",
        properties: { rivers: { type: "array", items: { type: "string" } } },
        required: ["rivers"],
        additionalProperties: false,
      },
    },
  },
};
export const sampleCompletionRequest: z.input<typeof CompletionRequest> = {
  model: "tiny-3b",
  prompt: "The longest river of Europe is",
  max_tokens: 16,
};
export const sampleEmbeddingRequest: z.input<typeof EmbeddingRequest> = {
  model: "embed-m3",
  input: ["the Danube", "the Rhine"],
};

const chatHead = { id: `chatcmpl-${SAMPLE_ID_SUFFIX}`, object: "chat.completion", created: SAMPLE_TIME } as const;

export const sampleChatResponse: z.input<typeof answers.ChatCompletion> = {
  ...chatHead,
  model: "small-8b",
  choices: [{ index: 0, message: { role: "assistant", content: ANSWER }, finish_reason: "stop" }],
  usage: USAGE,
};

export const sampleReasoningResponse: z.input<typeof answers.ChatCompletion> = {
  ...chatHead,
  model: "reason-32b",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: ANSWER, vendor_reasoning_content: "Any three will do." },
      finish_reason: "stop",
    },
  ],
  usage: { ...USAGE, completion_tokens_details: { reasoning_tokens: 5 } },
};

const completionHead = {
  id: `cmpl-${SAMPLE_ID_SUFFIX}`,
  object: "text_completion",
  created: SAMPLE_TIME,
  model: "tiny-3b",
} as const;

export const sampleCompletionResponse: z.input<typeof answers.TextCompletion> = {
  ...completionHead,
  choices: [{ index: 0, text: " the Volga.", finish_reason: "stop" }],
  usage: USAGE,
};

/** The example shows three numbers per vector. Real vectors have the model's own width. */
export const sampleEmbeddingResponse: z.input<typeof answers.EmbeddingList> = {
  object: "list",
  data: [
    { object: "embedding", index: 0, embedding: [0.015625, -0.0625, 0.25] },
    { object: "embedding", index: 1, embedding: [-0.03125, 0.125, 0.5] },
  ],
  model: "embed-m3",
  usage: { prompt_tokens: 14, total_tokens: 14 },
};

type ChatChunk = z.input<typeof answers.ChatCompletionChunk>;
type ChatChoice = ChatChunk["choices"][number];

const chatChunk = (delta: ChatChoice["delta"], finish_reason: ChatChoice["finish_reason"] = null): ChatChunk => ({
  ...chatHead,
  object: "chat.completion.chunk",
  model: "small-8b",
  choices: [{ index: 0, delta, finish_reason }],
  usage: null,
});

/** The events of a stream that ends with token usage. */
export const sampleChatEvents: ChatChunk[] = [
  chatChunk({ role: "assistant", content: "" }),
  chatChunk({ content: "The Danube," }),
  chatChunk({ content: " the Rhine and the Volga." }),
  chatChunk({}, "stop"),
  { ...chatChunk({}), choices: [], usage: USAGE },
];

type TextChunk = z.input<typeof answers.TextCompletionChunk>;

const textChunk = (text: string, finish_reason: "stop" | null = null): TextChunk => ({
  ...completionHead,
  choices: [{ index: 0, text, finish_reason }],
});

/** The events of a stream without token usage. */
export const sampleCompletionEvents: TextChunk[] = [textChunk(" the"), textChunk(" Volga."), textChunk("", "stop")];

/** The text of an event stream. */
export function formatEventStream(events: object[]): string {
  return [...events.map((event) => JSON.stringify(event)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
}

const LISTED = Date.parse("2026-09-01") / 1000;

const active = {
  class: "reasoning",
  quant_label: "4-bit",
  context_limit: 32_768,
  price_in_micro_1m: 100_000,
  price_out_micro_1m: 300_000,
  status: "active",
} as const;
const coming = {
  class: "large",
  quant_label: "unannounced",
  context_limit: null,
  price_in_micro_1m: null,
  price_out_micro_1m: null,
  status: "coming",
} as const;

const model = { object: "model", created: LISTED, owned_by: "tollgate" } as const;

export const sampleActiveModel: z.input<typeof answers.ModelObject> = {
  id: "reason-32b",
  ...model,
  vendor: { kind: "generation", ...active, ttft_p50_ms: 180, tps_p50: 42.5, structured_output: true },
};
const comingModel: typeof sampleActiveModel = {
  id: "large-70b",
  ...model,
  vendor: { kind: "generation", ...coming, ttft_p50_ms: null, tps_p50: null, structured_output: false },
};

export const sampleModels: z.input<typeof answers.ModelList> = {
  object: "list",
  data: [sampleActiveModel, comingModel],
};

export const sampleRates: z.input<typeof answers.RateSheet> = {
  object: "list",
  payout_share: 0.7,
  data: [
    {
      sku_id: "reason-32b",
      ...active,
      reasoning: { separate: true, billed_as: "output", field: "vendor_reasoning_content" },
    },
    { sku_id: "large-70b", ...coming, reasoning: { separate: false, billed_as: null, field: null } },
  ],
};

export const sampleReceiptKeys: z.input<typeof answers.ReceiptKeys> = {
  object: "receipt.keys",
  algorithm: "ed25519",
  keys: [{ id: "3f1c9a0b7d5e2846", public_key: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }],
};
