/**
 * Schemas of the public API's answers. They refuse unknown fields, so that tests detect undocumented ones. The
 * published document allows unknown fields, because new ones may be added.
 */
import { z } from "zod";
import { FINISH_REASONS, MODEL_CLASSES, MODEL_KINDS, MODEL_STATUSES } from "../enumerations.ts";

const SUFFIX = "[0-9a-hjkmnp-tv-z]{26}";

const Id = (prefix: string) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}-${SUFFIX}$`))
    .describe("Ends in the same 26 characters as x-request-id.");
const Created = z.int().describe("Unix time in seconds.");
const Model = z.string().describe("The ID of the model that served the request.");
const Tokens = z.int().min(0);
const Finish = z
  .enum(FINISH_REASONS)
  .describe(
    "`length`: the output reached max_tokens, or prompt and output reached the model's context limit. `stop`: the model finished, or a stop string was produced.",
  );
const Reasoning = z
  .string()
  .describe("The model's thinking. Present only for a model whose build separates thinking from the answer.");
const ReasoningContent = z
  .string()
  .describe("The same thinking, only with a key whose `reasoning_content` is on; in streams as it is generated.");
const Price = z.int().min(0).nullable();

export const Usage = z
  .strictObject({
    prompt_tokens: Tokens,
    completion_tokens: Tokens.describe("Includes reasoning tokens, which are billed as output."),
    total_tokens: Tokens,
    completion_tokens_details: z
      .strictObject({ reasoning_tokens: Tokens.describe("The part of completion_tokens that was thinking.") })
      .optional()
      .describe("Present only for a model whose build separates thinking from the answer."),
  })
  .describe("Counted by the gateway and used for billing.");

const UsageOfChunk = Usage.nullish().describe("Only with stream_options.include_usage: null until the usage chunk.");

export const ChatCompletion = z.strictObject({
  id: Id("chatcmpl"),
  object: z.literal("chat.completion"),
  created: Created,
  model: Model,
  choices: z
    .array(
      z.strictObject({
        index: z.literal(0),
        message: z.strictObject({
          role: z.literal("assistant"),
          content: z.string().describe("The answer without the thinking."),
          vendor_reasoning_content: Reasoning.optional(),
          reasoning_content: ReasoningContent.optional(),
        }),
        finish_reason: Finish,
      }),
    )
    .length(1),
  usage: Usage,
});

export const ChatCompletionChunk = z
  .strictObject({
    id: Id("chatcmpl"),
    object: z.literal("chat.completion.chunk"),
    created: Created,
    model: Model,
    choices: z
      .array(
        z.strictObject({
          index: z.literal(0),
          delta: z.strictObject({
            role: z.literal("assistant").optional(),
            content: z.string().optional(),
            vendor_reasoning_content: Reasoning.optional(),
            reasoning_content: ReasoningContent.optional(),
          }),
          finish_reason: Finish.nullable(),
        }),
      )
      .max(1)
      .describe("One entry; none in the usage chunk."),
    usage: UsageOfChunk,
  })
  .describe("One event of a streamed chat completion. id, created and model are the same in all events.");

export const TextCompletion = z.strictObject({
  id: Id("cmpl"),
  object: z.literal("text_completion"),
  created: Created,
  model: Model,
  choices: z.array(z.strictObject({ index: z.literal(0), text: z.string(), finish_reason: Finish })).length(1),
  usage: Usage,
});

export const TextCompletionChunk = z
  .strictObject({
    id: Id("cmpl"),
    object: z.literal("text_completion"),
    created: Created,
    model: Model,
    choices: z
      .array(z.strictObject({ index: z.literal(0), text: z.string(), finish_reason: Finish.nullable() }))
      .max(1)
      .describe("One entry; none in the usage chunk."),
    usage: UsageOfChunk,
  })
  .describe("One event of a streamed text completion. id, created and model are the same in all events.");

export const EmbeddingList = z.strictObject({
  object: z.literal("list"),
  data: z
    .array(
      z.strictObject({
        object: z.literal("embedding"),
        index: z.int().min(0),
        embedding: z.array(z.number()).describe("Floats at the model's native vector length."),
      }),
    )
    .describe("One entry per input, in the same order."),
  model: Model,
  usage: z.strictObject({
    prompt_tokens: Tokens,
    total_tokens: Tokens.describe("Equal to prompt_tokens: embeddings have no output tokens."),
  }),
});

/** The fields that the model list and the price list share. */
const Listing = {
  class: z.enum(MODEL_CLASSES),
  quant_label: z
    .string()
    .describe("Quantisation, such as `4-bit`; `unannounced` for a model that is not available yet."),
  context_limit: z.int().min(1).nullable().describe("The context window, in tokens."),
  price_in_micro_1m: Price.describe("Microdollars per million input tokens; null if there is no price."),
  price_out_micro_1m: Price.describe("Microdollars per million output tokens; null if there is no price."),
  status: z.enum(MODEL_STATUSES).describe("`coming`: listed, but not available yet."),
};

export const ModelObject = z.strictObject({
  id: z.string(),
  object: z.literal("model"),
  created: z.int().describe("When the model was listed, Unix time in seconds."),
  owned_by: z.string(),
  vendor: z
    .strictObject({
      kind: z
        .enum(MODEL_KINDS)
        .describe(
          "`generation`: for chat and text completions. `embedding`: for embeddings. See `status` for whether the model is available.",
        ),
      ...Listing,
      ttft_p50_ms: z
        .number()
        .nullable()
        .describe("Median time to first token over the nodes that can serve the model now; null if not measured yet."),
      tps_p50: z
        .number()
        .nullable()
        .describe("Median tokens per second over the nodes that can serve the model now; null if not measured yet."),
      structured_output: z
        .boolean()
        .describe("Whether a node that serves the model now supports a `response_format` other than text."),
      allowed: z.literal(false).optional().describe("Present where the key may not use the model."),
    })
    .describe("Fields that the OpenAI API does not have."),
});

export const ModelList = z.strictObject({ object: z.literal("list"), data: z.array(ModelObject) });

export const Rate = z.strictObject({
  sku_id: z.string().describe("The model ID."),
  ...Listing,
  reasoning: z
    .strictObject({
      separate: z.boolean().describe("Whether the model separates thinking from the answer."),
      billed_as: z.literal("output").nullable(),
      field: z.literal("vendor_reasoning_content").nullable().describe("The field that contains the thinking."),
    })
    .describe("How thinking affects the cost of a request."),
});

export const RateSheet = z.strictObject({
  object: z.literal("list"),
  payout_share: z.number().describe("The fraction of each dollar that is paid to the serving host."),
  data: z.array(Rate),
});

export const ReceiptKeys = z.strictObject({
  object: z.literal("receipt.keys"),
  algorithm: z.literal("ed25519"),
  keys: z
    .array(z.strictObject({ id: z.string(), public_key: z.string().describe("32 bytes in base64url.") }))
    .describe("All keys that have ever signed receipts."),
});
