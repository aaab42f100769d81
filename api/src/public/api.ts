/** The public API as a whole: its words, its headers, and the names of its schemas in the document. */
import type { Api } from "../openapi/api.ts";
import type { Header } from "../openapi/openapi.ts";
import * as answers from "./answers.ts";
import { ErrorEnvelope, REFUSALS } from "./faults.ts";
import { ChatRequest, CompletionRequest, EmbeddingRequest, Message } from "./fields.ts";
import { IGNORED_HEADER } from "./ignored.ts";
import { ResponseFormat } from "./response-format.ts";
import { publicRoutes } from "./routes.ts";
import { Status } from "./status.ts";

const INTRODUCTION = [
  "A client of the OpenAI dialect changes only its base address, which ends in `/v1`, and its key. Bodies are JSON in UTF-8, uncompressed, of at most 10 MiB.",
  "In a request body, `null` in a field means that the field is absent, and fields that are not listed here are ignored. Answers may gain fields; ignore what you do not know.",
  "Credits are prepaid. A request reserves the price of its prompt and of its largest possible output, which `max_tokens` sets; when it ends it is charged for the tokens that the gateway counted, and the rest is given back at once. Money is in microdollars: $1 is 1,000,000.",
  "Every error has the same envelope. Branch on `code`, never on the message. Every response carries `x-request-id`. A path that does not exist is a 404 of type `not_found_error`, a wrong method a 405 with `allow`; neither has a code.",
  "A page of another site may call this API unless the operator has narrowed it (CORS): `OPTIONS` needs no key, credentials of browsers are never used, and the headers that are described here can be read.",
].join("\n\n");

const HEADERS: Record<string, Header> = {
  "x-request-id": {
    description: "The request's id, on every response. The same suffix identifies the call in the usage history.",
    schema: { type: "string", pattern: "^req_[0-9a-hjkmnp-tv-z]{26}$" },
  },
  "x-should-retry": {
    description: "On errors: whether a client should try again by itself. Absent where it is as the client likes.",
    schema: { type: "string", enum: ["true", "false"] },
  },
  "retry-after": {
    description: "Whole seconds to wait before trying again. On every 429 and 503.",
    schema: { type: "integer", minimum: 1 },
  },
  "cache-control": {
    description: "How long anybody may keep the answer: five minutes, the status ten seconds.",
    schema: { type: "string", enum: ["public, max-age=300", "public, max-age=10"] },
  },
  [IGNORED_HEADER]: {
    description:
      "Fields of the request that are known and were ignored, such as `tools, logprobs`. On every answer after the fields were read, errors included; absent where there were none.",
    schema: { type: "string" },
  },
  "x-ratelimit-limit-requests": {
    description: "Requests that the key may make in a minute.",
    schema: { type: "integer" },
  },
  "x-ratelimit-remaining-requests": {
    description: "Requests left in the current minute.",
    schema: { type: "integer" },
  },
  "x-ratelimit-reset-requests": {
    description: "Time until the requests are counted anew, such as `12ms`, `1s` or `6m0s`.",
    schema: { type: "string" },
  },
  "x-ratelimit-limit-tokens": {
    description: "Tokens, prompt and output together, that the key may use in a minute.",
    schema: { type: "integer" },
  },
  "x-ratelimit-remaining-tokens": {
    description: "Tokens left in the current minute. A request's tokens are counted when it ends.",
    schema: { type: "integer" },
  },
  "x-ratelimit-reset-tokens": {
    description: "Time until the tokens are counted anew, such as `12ms`, `1s` or `6m0s`.",
    schema: { type: "string" },
  },
};

export const publicApi: Api = {
  title: "Tollgate API",
  summary: "Prepaid, metered text generation and embeddings in the OpenAI dialect.",
  description: INTRODUCTION,
  tags: [
    { name: "Generation", description: "Text from a prompt." },
    { name: "Embeddings", description: "Vectors from texts." },
    { name: "Catalogue", description: "The models and their prices." },
    { name: "Status", description: "How the platform is doing." },
    { name: "Receipts", description: "Proof of what was counted and charged." },
  ],
  credential: {
    name: "apiKey",
    scheme: {
      type: "http",
      scheme: "bearer",
      description:
        "`Authorization: Bearer tsk_live_<reference>_<secret>`. A missing, malformed, unknown or revoked key is always the same 401.",
    },
  },
  requests: {
    ChatRequest: { fields: ChatRequest },
    ChatMessage: { fields: Message },
    ResponseFormat: { fields: ResponseFormat },
    CompletionRequest: { fields: CompletionRequest },
    EmbeddingRequest: { fields: EmbeddingRequest },
  },
  answers: {
    ChatCompletion: answers.ChatCompletion,
    ChatCompletionChunk: answers.ChatCompletionChunk,
    TextCompletion: answers.TextCompletion,
    TextCompletionChunk: answers.TextCompletionChunk,
    EmbeddingList: answers.EmbeddingList,
    ModelList: answers.ModelList,
    Model: answers.ModelObject,
    RateSheet: answers.RateSheet,
    Rate: answers.Rate,
    ReceiptKeys: answers.ReceiptKeys,
    Usage: answers.Usage,
    Status,
  },
  tables: [{ tag: "Generation", routes: publicRoutes }],
  headers: HEADERS,
  refusals: REFUSALS,
  error: ErrorEnvelope,
};
