/** The models as the console shows them. */
import { z } from "zod";
import { codes } from "../faults.ts";
import { ChatRequest } from "../public/fields.ts";
import { routes } from "../route.ts";
import { MODEL_CLASSES, MODEL_KINDS, MODEL_STATUSES } from "../states.ts";
import { Count, listOf, Money, sampleList } from "../values.ts";

/** What matters to the hold; the rest of a chat request may come along. */
export const QuoteFields = ChatRequest.pick({
  model: true,
  messages: true,
  max_tokens: true,
  max_completion_tokens: true,
});

const Price = Count.nullable();
const Speed = z.number().nullable();

const LiveModel = z.strictObject({
  id: z.string(),
  object: z.literal("model"),
  kind: z.enum(MODEL_KINDS),
  class: z.enum(MODEL_CLASSES),
  quant_label: z.string(),
  context_limit: Count.nullable(),
  price_in_micro_1m: Price.describe("Microdollars per million input tokens; null where there is no price yet."),
  price_out_micro_1m: Price.describe("Microdollars per million output tokens; null for embeddings too."),
  status: z.enum(MODEL_STATUSES),
  reasoning: z.boolean().describe("It thinks apart from its answer. The thinking is billed as output."),
  ttft_p50_ms: Speed.describe(
    "Median time to the first token over the nodes that serve it now; null before any was measured.",
  ),
  tps_p50: Speed.describe("Median tokens per second, on the same basis."),
  nodes: Count.describe("How many connected nodes serve it."),
  slots: Count.describe("How many requests they take at once."),
  busy: Count.describe("How many of those are taken."),
  structured_output: z
    .boolean()
    .describe("Whether a node that serves the model now keeps to a `response_format` other than text."),
});

const LiveModelList = listOf(LiveModel);

const Quote = z.strictObject({
  object: z.literal("quote"),
  model: z.string(),
  prompt_tokens: Count,
  output_tokens_max: Count,
  hold_micro: Money.describe("The largest it can cost: this much is held while it runs."),
});

export const answers = { LiveModel, LiveModelList, Quote };

export const requests = { QuoteRequest: { fields: QuoteFields, words: {} } };

export const modelRoutes = routes({
  listLiveModels: {
    at: "GET /console/api/models",
    summary: "List the models as they stand now",
    description: "The whole catalogue, with the speed and the room of the nodes that serve each model at the moment.",
    guard: "signedIn",
    answer: {
      description: "The models.",
      json: LiveModelList,
      example: sampleList({
        id: "small-8b",
        object: "model",
        kind: "generation",
        class: "small",
        quant_label: "4-bit",
        context_limit: 16_384,
        price_in_micro_1m: 30_000,
        price_out_micro_1m: 70_000,
        status: "active",
        reasoning: false,
        ttft_p50_ms: 180,
        tps_p50: 41.5,
        nodes: 3,
        slots: 12,
        busy: 5,
        structured_output: true,
      }),
    },
  },
  quoteChat: {
    at: "POST /console/api/quote",
    summary: "Ask what a chat request would hold",
    description:
      "Counted by the model's own tokenizer, as if it were sent: the hold is the one that it would take. Nothing is held, and nothing is recorded. Other fields of a chat request are ignored.",
    guard: "builder",
    body: {
      fields: QuoteFields,
      example: { model: "small-8b", messages: [{ role: "user", content: "Hello" }], max_tokens: 256 },
    },
    answer: {
      description: "The quote.",
      json: Quote,
      example: {
        object: "quote",
        model: "small-8b",
        prompt_tokens: 11,
        output_tokens_max: 256,
        hold_micro: "18.250000",
      },
    },
    faults: codes("model_not_found", "no_capacity"),
  },
});
