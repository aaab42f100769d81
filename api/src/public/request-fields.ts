/** The request fields of the public endpoints. */
import { z } from "zod";
import { ResponseFormat } from "./response-format.ts";

/** Numbers with inclusive bounds. */
export const NUMBER_FIELD_RANGES = {
  temperature: [0, 2],
  top_p: [0, 1],
  presence_penalty: [-2, 2],
  frequency_penalty: [-2, 2],
} as const;

export const MESSAGE_ROLES = ["system", "developer", "user", "assistant", "tool", "function"] as const;

const between = ([min, max]: readonly [number, number]) =>
  z
    .number(`must be a number between ${min} and ${max}`)
    .min(min, `must be between ${min} and ${max}`)
    .max(max, `must be between ${min} and ${max}`);

/** No upper limit: a value above the model's context limit counts as that limit. */
const POSITIVE = "must be an integer of 1 or more";
const PositiveInteger = z
  .number(POSITIVE)
  .refine(Number.isInteger, POSITIVE)
  .min(1, POSITIVE)
  .meta({ type: "integer" });
export const SEED_MAX = 2 ** 53;
const SEED = "must be an integer within ±2^53";
const Seed = z
  .number(SEED)
  .refine(Number.isInteger, SEED)
  .min(-SEED_MAX, SEED)
  .max(SEED_MAX, SEED)
  .meta({ type: "integer" });
/**
 * The input text of embeddings. Token IDs get an error of their own, because some client libraries send them by
 * default.
 */
const InputText = z
  .string({
    error: ({ input }) =>
      typeof input === "number" || Array.isArray(input)
        ? "must be a string: token IDs are not supported. In LangChain for Python, set check_embedding_ctx_length=False"
        : "must be a string",
  })
  .min(1, "must not be empty");
const NonEmpty = z.string("must be a string").min(1, "must not be empty");

/**
 * The maximum length of a stop string. A job's header contains up to four of them, and they must fit even if every
 * character is escaped.
 */
const STOP_CHARS_MAX = 2_048;
const StopString = NonEmpty.max(STOP_CHARS_MAX, `must have at most ${STOP_CHARS_MAX} characters`);

const TextPart = z.object(
  {
    type: z.literal("text", 'must be "text": other content parts are not supported'),
    text: z.string("must be a string"),
  },
  "must be an object with type and text",
);
const Content = z.union([z.string(), z.array(TextPart)], "must be a string or an array of text parts");

export const Message = z
  .object(
    {
      role: z.enum(MESSAGE_ROLES, `must be one of ${MESSAGE_ROLES.join(", ")}`),
      content: Content.nullish().describe(
        "Required. null is allowed only for an assistant message with tool_calls or function_call.",
      ),
      tool_calls: z.array(z.unknown(), "must be an array").nullish().describe("Not passed to the model."),
      function_call: z.looseObject({}, "must be an object").nullish().describe("Not passed to the model."),
    },
    "must be an object with role and content",
  )
  .superRefine((message, context) => {
    if (message.content != null) return;
    if (message.role === "assistant" && (message.tool_calls ?? message.function_call) != null) return;
    context.addIssue({ code: "custom", path: ["content"], message: "must be a string or an array of text parts" });
  });

const Model = NonEmpty.describe("A model ID from GET /v1/models.");

/** The current and the older field with which clients request tool calls. */
const NoToolCall = z
  .enum(["auto", "none"], 'must be "auto" or "none": tool calls are not supported')
  .optional()
  .describe("Ignored. A value that requires a tool call is refused, because tool calls are not supported.");

const Generation = {
  model: Model,
  max_tokens: PositiveInteger.optional().describe(
    "Caps the output and sizes the hold. Default and maximum: the model's context limit.",
  ),
  max_completion_tokens: PositiveInteger.optional().describe("Alias of max_tokens; takes precedence if both are set."),
  temperature: between(NUMBER_FIELD_RANGES.temperature).optional(),
  top_p: between(NUMBER_FIELD_RANGES.top_p).optional(),
  presence_penalty: between(NUMBER_FIELD_RANGES.presence_penalty).optional(),
  frequency_penalty: between(NUMBER_FIELD_RANGES.frequency_penalty).optional(),
  seed: Seed.optional().describe("Within ±2^53."),
  stop: z
    .union(
      [StopString, z.array(StopString).max(4, "must have at most 4 strings")],
      "must be a string or an array of at most 4 strings",
    )
    .optional()
    .describe(
      "The output ends before any of these strings. Separated thinking is not searched. An empty list means absent.",
    ),
  n: z
    .literal(1, "must be 1: a response has exactly one choice")
    .optional()
    .describe("Exactly one choice is returned."),
  stream: z.boolean("must be true or false").optional().describe("`true` returns server-sent events. Default: false."),
  stream_options: z
    .object({ include_usage: z.boolean("must be true or false").nullish() }, "must be an object")
    .optional()
    .describe("Ignored without stream."),
  tool_choice: NoToolCall,
  function_call: NoToolCall,
  response_format: ResponseFormat.optional(),
};

export const ChatRequest = z.object({
  ...Generation,
  messages: z.array(Message, "must be an array of messages").min(1, "must have at least one message"),
});

export const CompletionRequest = z.object({
  ...Generation,
  prompt: z
    .union(
      [z.string(), z.array(z.string("must be a string: token IDs are not supported"))],
      "must be a string or an array of strings",
    )
    .default("")
    .describe("An array is joined with newlines into one prompt."),
});

export const EmbeddingRequest = z.object({
  model: Model,
  input: z
    .union(
      [NonEmpty, z.array(InputText).min(1, "must have 1 to 2048 strings").max(2048, "must have 1 to 2048 strings")],
      "must be a non-empty string or 1 to 2048 non-empty strings",
    )
    .describe("One vector per element, in the same order."),
});
