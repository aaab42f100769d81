/** The public API: three endpoints that generate, the catalogue, and the keys of receipts. */
import { codes } from "../faults.ts";
import { routes } from "../route.ts";
import * as answers from "./answers.ts";
import { INFERENCE_FAULTS, STREAMED_CODES } from "./faults.ts";
import { ChatRequest, CompletionRequest, EmbeddingRequest } from "./fields.ts";
import { IGNORED_FIELDS, IGNORED_HEADER, IGNORED_OF_EMBEDDINGS } from "./ignored.ts";
import * as samples from "./samples.ts";
import { Status, sampleStatus } from "./status.ts";

const paragraphs = (...texts: string[]): string => texts.join("\n\n");

const ignoring = (...more: string[]): string =>
  `Accepted and ignored, like every field that is not listed: ${[...IGNORED_FIELDS, ...more].map((name) => `\`${name}\``).join(", ")}. Those of them that were sent are named in the answer's header \`${IGNORED_HEADER}\`. Of \`metadata\` the string \`tag\`, or else \`user\`, is kept as the request's label in your history and sums, where it has at most 64 plain characters; it changes nothing about the answer.`;
const NO_TOOLS =
  "There are no tool calls in any answer: a `tool_choice` that demands one (`required`, or a tool by its name) is a 400.";

const GENERATED = "The answer: one JSON object, or with `stream: true` server-sent events.";

const eventsInOrder = (...first: string[]): string =>
  paragraphs(
    "Events in this order, each a line `data:` with the JSON of one chunk and an empty line:",
    [
      ...first,
      "- with `stream_options.include_usage`, one chunk with empty `choices` and the `usage`; every chunk before it has `usage: null`",
      "- `data: [DONE]`",
    ].join("\n"),
    `The status is 200 before a node is chosen. What fails after that is a terminal event, \`data: {"error":{"message","type","code"}}\` with a code of ${STREAMED_CODES.map((code) => `\`${code}\``).join(", ")}; no \`finish_reason\` comes before it, and no \`[DONE]\` after it.`,
    "While nothing else flows, a comment line `: keep-alive` comes every 5 seconds.",
  );

const wholeStream = (events: object[]) => ({
  stream: { summary: "A whole stream", value: samples.transcript(events) },
});

export const publicRoutes = routes({
  createChatCompletion: {
    at: "POST /v1/chat/completions",
    summary: "Answer a conversation",
    description: paragraphs(
      "Exactly one choice is returned. `max_tokens` caps the output and sizes the reservation; without it both follow the model's context limit, which may be more than your balance. Prompt and output share the context: a prompt that leaves no room for one token is a 400.",
      ignoring(),
      NO_TOOLS,
      "With a `response_format` of type `json_object` or `json_schema`, the node's engine keeps the answer to it. Nothing of it enters the prompt or is billed, and the gateway does not repair answers. While no connected node can do that for the model, the answer is 503 `no_capacity`.",
      "Thinking never stands in `content`. A model whose build keeps it apart returns it whole in `vendor_reasoning_content`, and it is billed as output.",
    ),
    guard: "apiKey",
    body: {
      fields: ChatRequest,
      examples: {
        whole: { value: samples.chatRequest },
        stream: { value: samples.streamRequest },
        structured: { summary: "An answer of a given form", value: samples.structuredRequest },
      },
    },
    answer: {
      description: GENERATED,
      headers: [IGNORED_HEADER],
      json: answers.ChatCompletion,
      examples: {
        answer: { summary: "An answer", value: samples.chatAnswer },
        reasoning: { summary: "An answer of a model that thinks apart", value: samples.reasoningAnswer },
      },
      events: {
        description: eventsInOrder(
          "- one chunk with the delta `role` and an empty `content`",
          "- chunks with deltas of `content`",
          "- one chunk with `finish_reason` and an empty delta; for a model that thinks apart, that delta holds the whole `vendor_reasoning_content`",
        ),
        each: answers.ChatCompletionChunk,
        examples: wholeStream(samples.chatEvents),
      },
    },
    faults: INFERENCE_FAULTS,
  },
  createCompletion: {
    at: "POST /v1/completions",
    summary: "Complete a text",
    description: paragraphs(
      "An array of prompts is joined with newlines into one prompt and gives one completion, not one per element. Token ids are refused.",
      ignoring(),
    ),
    guard: "apiKey",
    body: { fields: CompletionRequest, examples: { whole: { value: samples.completionRequest } } },
    answer: {
      description: GENERATED,
      headers: [IGNORED_HEADER],
      json: answers.TextCompletion,
      examples: { answer: { value: samples.completionAnswer } },
      events: {
        description: eventsInOrder("- chunks with `text`", "- one chunk with `finish_reason` and an empty `text`"),
        each: answers.TextCompletionChunk,
        examples: wholeStream(samples.completionEvents),
      },
    },
    faults: INFERENCE_FAULTS,
  },
  createEmbedding: {
    at: "POST /v1/embeddings",
    tag: "Embeddings",
    summary: "Turn texts into vectors",
    description: paragraphs(
      "Takes an embedding model; a generation model is a 404 `model_not_found`. Each input may be as long as the model's context limit. Token ids are refused.",
      "Vectors are float arrays at the model's native width, whatever was asked for. Reservation and charge are for the input alone.",
      ignoring(...IGNORED_OF_EMBEDDINGS),
    ),
    guard: "apiKey",
    body: { fields: EmbeddingRequest, examples: { texts: { value: samples.embeddingRequest } } },
    answer: {
      description: "One vector per input.",
      headers: [IGNORED_HEADER],
      json: answers.EmbeddingList,
      examples: { vectors: { summary: "Cut to three numbers a vector", value: samples.embeddingAnswer } },
    },
    faults: INFERENCE_FAULTS,
  },
  listModels: {
    at: "GET /v1/models",
    tag: "Catalogue",
    summary: "List the models",
    description:
      "Every listed model, those that are still coming included. Counts as a request against the key's limit. What the reference dialect does not have is in `vendor`: a chat application shows those whose `vendor.kind` is `generation` and whose `vendor.status` is `active`.",
    guard: "apiKey",
    answer: {
      description: "Every listed model.",
      json: answers.ModelList,
      examples: { models: { value: samples.models } },
    },
    faults: codes("no_capacity"),
  },
  retrieveModel: {
    at: "GET /v1/models/{id}",
    tag: "Catalogue",
    summary: "Read one model",
    description:
      "One entry of the list, also of a model that is still coming. Counts as a request against the key's limit.",
    guard: "apiKey",
    path: { id: "A model id of GET /v1/models." },
    answer: {
      description: "The model.",
      json: answers.ModelObject,
      examples: { model: { value: samples.activeModel } },
    },
    faults: codes("model_not_found", "no_capacity"),
  },
  listRates: {
    at: "GET /v1/catalog/rates",
    tag: "Catalogue",
    summary: "Read the price sheet",
    description: "The same catalogue as a price sheet, without a key, with the share that hosts are paid.",
    guard: "anyone",
    answer: {
      description: "The prices in force.",
      json: answers.RateSheet,
      examples: { rates: { value: samples.rates } },
      headers: ["cache-control"],
    },
  },
  listReceiptKeys: {
    at: "GET /.well-known/tollgate-receipts",
    tag: "Receipts",
    summary: "Read the keys that verify receipts",
    description:
      "Ed25519 public keys. With them anybody can check a usage receipt, without asking the gateway about it.",
    guard: "anyone",
    answer: {
      description: "The published keys.",
      json: answers.ReceiptKeys,
      examples: { keys: { value: samples.receiptKeys } },
      headers: ["cache-control"],
    },
  },
  readStatus: {
    at: "GET /status.json",
    tag: "Status",
    summary: "Read how the models are doing",
    description:
      "What the page `/status` shows, without a key: whether each model can be served now, its availability and speed by day, and incidents, all by what was measured. It is made anew every few seconds at most. An operator may have turned it off: then it is a 404.",
    guard: "anyone",
    answer: {
      description: "The state of the platform.",
      json: Status,
      examples: { status: { value: sampleStatus } },
      headers: ["cache-control"],
    },
  },
});
