/** The models as the console shows them. */
import { z } from "zod";
import { codes } from "../faults.ts";
import { ChatRequest } from "../public/fields.ts";
import { routes } from "../route.ts";
import { MODEL_CLASSES, MODEL_KINDS, MODEL_STATUSES } from "../states.ts";
import { Count, listOf, Milliseconds, Money, SAMPLE_TIME, sampleList, Time } from "../values.ts";

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

const Model = LiveModel.extend({
  listed: z.string().describe("The day on which it was listed: `2026-09-01`."),
  build: z.string().nullable().describe("What nodes run for it; null while it is coming."),
  licence: z.string().nullable().describe("The weights' licence; null where the catalogue does not state one."),
  tokenizer: z.string().nullable().describe("What its tokens are counted with."),
  vector_width: Count.nullable().describe("Of embeddings: how many numbers a vector has."),
  waiting: Count.describe("How many requests wait for a free slot at this gateway."),
});

/** Those for which availability is kept. */
const MODEL_RANGES = ["24h", "7d", "30d", "90d"] as const;

const PerformanceFields = z.object({
  range: z.enum(MODEL_RANGES, `must be one of ${MODEL_RANGES.join(", ")}`).default("24h"),
});

const Share = z.number().min(0).max(1).nullable();
const Measured = {
  availability: Share.describe("The share of samples in which a node could serve it; null where there is none."),
  failed_share: Share.describe("Of requests, but for those whose client left; null where there were fewer than 20."),
  ttft_p50_ms: Milliseconds.describe("To the first token, of answers that ended well; null of embeddings."),
  ttft_p95_ms: Milliseconds,
  tokens_per_second: Speed.describe("Of output after its first token."),
};

const ModelPerformance = z.strictObject({
  object: z.literal("model.performance"),
  model: z.string(),
  range: z.enum(MODEL_RANGES),
  total: z.strictObject(Measured).describe("Over the whole range."),
  slot_seconds: Count.describe("How long each of the points is: an hour or a UTC day."),
  points: z
    .array(z.strictObject({ at: Time.describe("Where it begins, Unix time in seconds."), ...Measured }))
    .describe("Every hour or day of the range, the oldest first."),
});

const Quote = z.strictObject({
  object: z.literal("quote"),
  model: z.string(),
  prompt_tokens: Count,
  output_tokens_max: Count,
  hold_micro: Money.describe("The largest it can cost: this much is held while it runs."),
});

export const answers = { LiveModel, LiveModelList, Model, ModelPerformance, Quote };

const sampleLive = {
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
};
const sampleMeasured = {
  availability: 0.9993,
  failed_share: 0.002,
  ttft_p50_ms: 180,
  ttft_p95_ms: 420,
  tokens_per_second: 41.5,
};

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
      example: sampleList(sampleLive),
    },
  },
  readModel: {
    at: "GET /console/api/models/{id}",
    summary: "Read one model",
    description: "What the list says of it, and what else is known of its build.",
    guard: "signedIn",
    path: { id: "The model's id, such as small-8b." },
    answer: {
      description: "The model.",
      json: Model,
      example: {
        ...sampleLive,
        listed: "2026-09-01",
        build: "small-8b-q4-1",
        licence: null,
        tokenizer: "llama3",
        vector_width: null,
        waiting: 0,
      },
    },
    faults: codes("model_not_found"),
  },
  readModelPerformance: {
    at: "GET /console/api/models/{id}/performance",
    summary: "Read how a model did",
    description:
      "Its availability, speed and failures on the whole platform, over a range and in each hour or UTC day of it. Requests are in it a few seconds after they ended.",
    guard: "signedIn",
    path: { id: "The model's id, such as small-8b." },
    query: PerformanceFields,
    words: { range: "How far back: hours of 24h and 7d, days of 30d and 90d." },
    answer: {
      description: "What was measured.",
      json: ModelPerformance,
      example: {
        object: "model.performance",
        model: "small-8b",
        range: "24h",
        total: sampleMeasured,
        slot_seconds: 3_600,
        points: [{ at: SAMPLE_TIME - (SAMPLE_TIME % 3_600), ...sampleMeasured }],
      },
    },
    faults: codes("model_not_found"),
  },
  quoteChat: {
    at: "POST /console/api/quote",
    summary: "Ask what a chat request would hold",
    description:
      "Counted by the model's own tokenizer, as if it were sent: the hold is the one that it would take. Nothing is held, and nothing is recorded. Other fields of a chat request are ignored.",
    guard: "builder",
    needs: "read",
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
