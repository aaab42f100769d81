/** The models for the console's pages: prices, performance, and a quote for a request. */
import { z } from "zod";
import {
  AsOfField,
  Count,
  Milliseconds,
  Money,
  makeListSchema,
  SAMPLE_TIME,
  sampleList,
  Time,
} from "../common-schemas.ts";
import { MODEL_CLASSES, MODEL_KINDS, MODEL_STATUSES } from "../enumerations.ts";
import { refusalsOfCodes } from "../faults.ts";
import { RANGE_END_DESCRIPTION, TimeRangeFields } from "../list-query-fields.ts";
import { ChatRequest } from "../public/request-fields.ts";
import { declareRoutes } from "../route-declaration.ts";

/** The request fields that affect the held amount. Other fields are ignored. */
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
  price_in_micro_1m: Price.describe("Microdollars per million input tokens; null if there is no price yet."),
  price_out_micro_1m: Price.describe(
    "Microdollars per million output tokens; null for embeddings or if there is no price yet.",
  ),
  status: z.enum(MODEL_STATUSES),
  reasoning: z
    .boolean()
    .describe("Whether the model returns its thinking separately from the answer. Thinking is billed as output."),
  ttft_p50_ms: Speed.describe(
    "Median time to first token over the nodes that serve the model now; null if not measured yet.",
  ),
  tps_p50: Speed.describe(
    "Median tokens per second over the nodes that serve the model now; null if not measured yet.",
  ),
  nodes: Count.describe("Number of connected nodes that serve the model."),
  slots: Count.describe("Number of requests that these nodes can serve at a time."),
  busy: Count.describe("How many of the slots are in use."),
  structured_output: z
    .boolean()
    .describe("Whether a node that serves the model now supports a `response_format` other than text."),
});

const LiveModelList = makeListSchema(LiveModel);

const Model = LiveModel.extend({
  ...AsOfField,
  listed: z.string().describe("The day on which the model was listed, such as `2026-09-01`."),
  build: z.string().nullable().describe("The build that nodes run; null for a model that is not available yet."),
  licence: z.string().nullable().describe("The licence of the weights; null if the catalogue has none."),
  tokenizer: z.string().nullable().describe("The tokenizer that counts its tokens."),
  vector_width: Count.nullable().describe("For embeddings: the length of a vector."),
  waiting: Count.describe("Number of requests that wait for a free slot at this gateway."),
});

/** The periods for which availability is stored. */
const MODEL_RANGES = ["24h", "7d", "30d", "90d"] as const;

const PerformanceFields = z.object({
  range: z.enum(MODEL_RANGES, `must be one of ${MODEL_RANGES.join(", ")}`).default("24h"),
  to: TimeRangeFields.to,
});

const Share = z.number().min(0).max(1).nullable();
const Measured = {
  availability: Share.describe("Share of samples in which a node could serve the model; null if there are no samples."),
  failed_share: Share.describe(
    "Share of requests that failed, without those cancelled by the client; null for fewer than 20 requests.",
  ),
  ttft_p50_ms: Milliseconds.describe("Median time to first token of successful requests; null for embeddings."),
  ttft_p95_ms: Milliseconds,
  tokens_per_second: Speed.describe("Output speed after the first token."),
};

const ModelPerformance = z.strictObject({
  object: z.literal("model.performance"),
  ...AsOfField,
  model: z.string(),
  range: z.enum(MODEL_RANGES),
  total: z.strictObject(Measured).describe("Figures for the whole range."),
  slot_seconds: Count.describe("Length of each point: an hour or a UTC day."),
  points: z
    .array(z.strictObject({ at: Time.describe("Start of the hour or day, in Unix seconds."), ...Measured }))
    .describe("Every hour or day of the range, oldest first."),
});

const Quote = z.strictObject({
  object: z.literal("quote"),
  ...AsOfField,
  model: z.string(),
  prompt_tokens: Count,
  output_tokens_max: Count,
  hold_micro: Money.describe("The most that the request can cost. This amount is held while it runs."),
});

export const modelResponseSchemas = { LiveModel, LiveModelList, Model, ModelPerformance, Quote };

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

export const modelRequestSchemas = { QuoteRequest: { fields: QuoteFields, words: {} } };

export const modelRoutes = declareRoutes({
  listLiveModels: {
    at: "GET /console/api/models",
    summary: "List models with live figures",
    description: "The whole catalogue, with the current speed and free slots of the nodes that serve each model.",
    guard: "signedIn",
    answer: {
      description: "The models.",
      json: LiveModelList,
      example: sampleList(sampleLive),
    },
  },
  readModel: {
    at: "GET /console/api/models/{id}",
    summary: "Get a model",
    description: "The same fields as in the list, plus details of the model's build.",
    guard: "signedIn",
    path: { id: "The model ID, such as small-8b." },
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
        as_of: SAMPLE_TIME,
      },
    },
    faults: refusalsOfCodes("model_not_found"),
  },
  readModelPerformance: {
    at: "GET /console/api/models/{id}/performance",
    summary: "Get a model's performance",
    description:
      "The model's availability, speed and failures on the whole platform, for the range and for each hour or UTC day of it. Requests appear a few seconds after they end.",
    guard: "signedIn",
    path: { id: "The model ID, such as small-8b." },
    query: PerformanceFields,
    words: {
      range: "The time range. `24h` and `7d` have hourly points, `30d` and `90d` daily ones.",
      to: RANGE_END_DESCRIPTION,
    },
    answer: {
      description: "The measurements.",
      json: ModelPerformance,
      example: {
        object: "model.performance",
        as_of: SAMPLE_TIME,
        model: "small-8b",
        range: "24h",
        total: sampleMeasured,
        slot_seconds: 3_600,
        points: [{ at: SAMPLE_TIME - (SAMPLE_TIME % 3_600), ...sampleMeasured }],
      },
    },
    faults: refusalsOfCodes("model_not_found"),
  },
  quoteChat: {
    at: "POST /console/api/quote",
    summary: "Estimate the hold of a chat request",
    description:
      "Counts the prompt with the model's own tokenizer and returns the hold that the request would need. Nothing is held or recorded. Other fields of a chat request are ignored.",
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
        as_of: SAMPLE_TIME,
      },
    },
    faults: refusalsOfCodes("model_not_found", "no_capacity"),
  },
});
