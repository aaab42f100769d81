/**
 * The routes of the public API: chat, completions, embeddings, the model catalogue, and the public keys of receipts.
 */
import { refusalsOfCodes } from "../faults.ts";
import { declareRoutes } from "../route-declaration.ts";
import { IGNORED_EMBEDDING_FIELDS, IGNORED_FIELDS, IGNORED_FIELDS_HEADER } from "./ignored-fields.ts";
import { INFERENCE_FAULTS, STREAM_END_ERROR_CODES } from "./public-error-codes.ts";
import { ChatRequest, CompletionRequest, EmbeddingRequest } from "./request-fields.ts";
import * as answers from "./response-schemas.ts";
import * as samples from "./sample-requests-and-responses.ts";
import { Status, sampleStatus } from "./status.ts";

const paragraphs = (...texts: string[]): string => texts.join("\n\n");

const ignoring = (...more: string[]): string =>
  `Accepted and ignored, like every unlisted field: ${[...IGNORED_FIELDS, ...more].map((name) => `\`${name}\``).join(", ")}. The response header \`${IGNORED_FIELDS_HEADER}\` lists the ignored fields of a request. With a key whose \`labels\` are on, the string \`metadata.label\`, or else \`user\`, is stored as the request's label in your history and usage sums if it has at most 64 plain characters. It does not affect the output.`;
const NO_TOOLS =
  "Tool calls are not supported: a `tool_choice` or `function_call` that requires one (`required`, or a named tool) gets a 400.";

const GENERATED = "The completion: one JSON object or, with `stream: true`, server-sent events.";

const eventsInOrder = (...first: string[]): string =>
  paragraphs(
    "Events in this order, each a `data:` line with the JSON of one chunk, followed by an empty line:",
    [
      ...first,
      "- with `stream_options.include_usage`, one chunk with empty `choices` and the `usage`; all chunks before it have `usage: null`",
      "- `data: [DONE]`",
    ].join("\n"),
    `The status is 200 before a node is chosen. A later failure is a terminal event, \`data: {"error":{"message","type","code"}}\`, with one of the codes ${STREAM_END_ERROR_CODES.map((code) => `\`${code}\``).join(", ")}. No \`finish_reason\` comes before it and no \`[DONE]\` after it: the connection is closed without the end of the body.`,
    "While there is no output, a comment line `: keep-alive` is sent every 5 seconds.",
  );

const wholeStream = (events: object[]) => ({
  stream: { summary: "A complete stream", value: samples.formatEventStream(events) },
});

export const publicRoutes = declareRoutes({
  createChatCompletion: {
    at: "POST /v1/chat/completions",
    summary: "Create a chat completion",
    description: paragraphs(
      "Returns exactly one choice. `max_tokens` caps the output and sizes the hold. Without it, both follow the model's context limit, which may cost more than your balance. Prompt and output share the context: a prompt that leaves no room for one output token gets a 400.",
      ignoring(),
      NO_TOOLS,
      "With a `response_format` of type `json_object` or `json_schema`, the node's engine enforces the format. The format is not part of the prompt and is not billed, and the gateway does not repair output. If no connected node supports it for the model, the request gets a 503 `no_capacity`.",
      "Thinking never appears in `content`. A model whose build separates it returns all of it in `vendor_reasoning_content`; it is billed as output. With a key whose `reasoning_content` is on, it is also sent in the field `reasoning_content`, in streams as it is generated.",
    ),
    guard: "apiKey",
    body: {
      fields: ChatRequest,
      examples: {
        whole: { value: samples.sampleChatRequest },
        stream: { value: samples.sampleStreamingChatRequest },
        structured: { summary: "Structured output", value: samples.sampleStructuredOutputRequest },
      },
    },
    answer: {
      description: GENERATED,
      headers: [IGNORED_FIELDS_HEADER],
      json: answers.ChatCompletion,
      examples: {
        answer: { summary: "A completion", value: samples.sampleChatResponse },
        reasoning: {
          summary: "A completion of a model that separates thinking",
          value: samples.sampleReasoningResponse,
        },
      },
      events: {
        description: eventsInOrder(
          "- one chunk with the delta `role` and an empty `content`",
          "- chunks with deltas of `content`",
          "- one chunk with `finish_reason` and an empty delta; for a model that separates thinking, that delta has the whole `vendor_reasoning_content`",
        ),
        each: answers.ChatCompletionChunk,
        examples: wholeStream(samples.sampleChatEvents),
      },
    },
    faults: INFERENCE_FAULTS,
  },
  createCompletion: {
    at: "POST /v1/completions",
    summary: "Create a text completion",
    description: paragraphs(
      "An array of prompts is joined with newlines into one prompt and gives one completion, not one per element. Token IDs are refused.",
      ignoring(),
    ),
    guard: "apiKey",
    body: { fields: CompletionRequest, examples: { whole: { value: samples.sampleCompletionRequest } } },
    answer: {
      description: GENERATED,
      headers: [IGNORED_FIELDS_HEADER],
      json: answers.TextCompletion,
      examples: { answer: { value: samples.sampleCompletionResponse } },
      events: {
        description: eventsInOrder("- chunks with `text`", "- one chunk with `finish_reason` and an empty `text`"),
        each: answers.TextCompletionChunk,
        examples: wholeStream(samples.sampleCompletionEvents),
      },
    },
    faults: INFERENCE_FAULTS,
  },
  createEmbedding: {
    at: "POST /v1/embeddings",
    tag: "Embeddings",
    summary: "Create embeddings",
    description: paragraphs(
      "Requires an embedding model; a generation model gets a 404 `model_not_found`. Each input may be as long as the model's context limit. Token IDs are refused.",
      "Vectors are float arrays at the model's native length, whatever the request asks for. Hold and charge cover the input only.",
      ignoring(...IGNORED_EMBEDDING_FIELDS),
    ),
    guard: "apiKey",
    body: { fields: EmbeddingRequest, examples: { texts: { value: samples.sampleEmbeddingRequest } } },
    answer: {
      description: "One vector per input.",
      headers: [IGNORED_FIELDS_HEADER],
      json: answers.EmbeddingList,
      examples: {
        vectors: { summary: "Shortened to three numbers per vector", value: samples.sampleEmbeddingResponse },
      },
    },
    faults: INFERENCE_FAULTS,
  },
  listModels: {
    at: "GET /v1/models",
    tag: "Catalogue",
    summary: "List models",
    description:
      "All listed models, including those that are not available yet. The call counts against the key's request limit. Fields that the OpenAI API does not have are in `vendor`. A chat application should offer the models whose `vendor.kind` is `generation` and whose `vendor.status` is `active`.",
    guard: "apiKey",
    answer: {
      description: "All listed models.",
      json: answers.ModelList,
      examples: { models: { value: samples.sampleModels } },
    },
    faults: refusalsOfCodes("no_capacity"),
  },
  retrieveModel: {
    at: "GET /v1/models/{id}",
    tag: "Catalogue",
    summary: "Get a model",
    description:
      "One entry of the list. It can be a model that is not available yet. The call counts against the key's request limit.",
    guard: "apiKey",
    path: { id: "A model ID from GET /v1/models." },
    answer: {
      description: "The model.",
      json: answers.ModelObject,
      examples: { model: { value: samples.sampleActiveModel } },
    },
    faults: refusalsOfCodes("model_not_found", "no_capacity"),
  },
  listRates: {
    at: "GET /v1/catalog/rates",
    tag: "Catalogue",
    summary: "Get the prices",
    description: "The prices of all models and the hosts' share. No key needed.",
    guard: "anyone",
    answer: {
      description: "The current prices.",
      json: answers.RateSheet,
      examples: { rates: { value: samples.sampleRates } },
      headers: ["cache-control"],
    },
  },
  listReceiptKeys: {
    at: "GET /.well-known/tollgate-receipts",
    tag: "Receipts",
    summary: "Get the receipt keys",
    description: "Ed25519 public keys. Anyone can verify a usage receipt with them, offline.",
    guard: "anyone",
    answer: {
      description: "The published keys.",
      json: answers.ReceiptKeys,
      examples: { keys: { value: samples.sampleReceiptKeys } },
      headers: ["cache-control"],
    },
  },
  readStatus: {
    at: "GET /status.json",
    tag: "Status",
    summary: "Get the platform's status",
    description:
      "The data of the `/status` page. No key needed. Shows whether the platform and each model can be served now, each model's availability and speed by day, and incidents, all measured. It is updated every few seconds, and is also served while the database is unreachable. `/status.atom` has the incidents as a feed. Returns 404 if the operator has turned it off.",
    guard: "anyone",
    answer: {
      description: "The platform's status.",
      json: Status,
      examples: { status: { value: sampleStatus } },
      headers: ["cache-control"],
    },
  },
});
