/** The public API: its description, its headers, and its schemas' names in the API document. */
import type { Api } from "../openapi/api-declaration.ts";
import type { Header } from "../openapi/openapi-types.ts";
import { IGNORED_FIELDS_HEADER } from "./ignored-fields.ts";
import { ErrorEnvelope, PUBLIC_REFUSALS } from "./public-error-codes.ts";
import { ChatRequest, CompletionRequest, EmbeddingRequest, Message } from "./request-fields.ts";
import { ResponseFormat } from "./response-format.ts";
import * as answers from "./response-schemas.ts";
import { publicRoutes } from "./routes.ts";
import { Status } from "./status.ts";

const INTRODUCTION = [
  "An OpenAI client needs only a new base URL, which ends in `/v1`, and a new key. Request bodies are JSON in UTF-8, uncompressed, at most 10 MiB.",
  "In a request body, `null` means that the field is absent, and unlisted fields are ignored. Responses may gain fields; ignore the ones you do not know.",
  "Credits are prepaid. A request reserves (holds) the price of its prompt and of its largest possible output, which `max_tokens` sets. When the request ends, it is charged for the tokens that the gateway counted, and the rest of the hold is released immediately. Amounts are in microdollars: $1 is 1,000,000.",
  "All errors have the same envelope. Branch on `code`, never on the message. Every response carries `x-request-id`. An unknown path is a 404 of type `not_found_error`, a wrong method is a 405 with `allow`; neither has a code.",
  "Web pages of any origin can call this API (CORS), unless the operator restricts the origins. `OPTIONS` needs no key, browser credentials are never used, and pages can read the response headers described here.",
].join("\n\n");

const HEADERS: Record<string, Header> = {
  "x-request-id": {
    description: "The request ID. Present on every response. The request history shows it too.",
    schema: { type: "string", pattern: "^req_[0-9a-hjkmnp-tv-z]{26}$" },
  },
  "x-should-retry": {
    description: "On errors: whether the client should retry automatically. Absent if a retry is optional.",
    schema: { type: "string", enum: ["true", "false"] },
  },
  "retry-after": {
    description: "Seconds to wait before a retry. Present on every 429 and 503.",
    schema: { type: "integer", minimum: 1 },
  },
  "cache-control": {
    description: "How long the response may be cached: five minutes, or ten seconds for the status.",
    schema: { type: "string", enum: ["public, max-age=300", "public, max-age=10"] },
  },
  [IGNORED_FIELDS_HEADER]: {
    description:
      "Request fields that are known and were ignored, such as `tools, logprobs`. Present on every response after the fields were read, errors included; absent if none were ignored.",
    schema: { type: "string" },
  },
  "x-ratelimit-limit-requests": {
    description: "The key's requests-per-minute limit.",
    schema: { type: "integer" },
  },
  "x-ratelimit-remaining-requests": {
    description: "Requests left in the current minute.",
    schema: { type: "integer" },
  },
  "x-ratelimit-reset-requests": {
    description: "Time until the request limit resets, such as `12ms`, `1s` or `6m0s`.",
    schema: { type: "string" },
  },
  "x-ratelimit-limit-tokens": {
    description: "The key's tokens-per-minute limit, prompt and output together.",
    schema: { type: "integer" },
  },
  "x-ratelimit-remaining-tokens": {
    description: "Tokens left in the current minute. A request's tokens count when it ends.",
    schema: { type: "integer" },
  },
  "x-ratelimit-reset-tokens": {
    description: "Time until the token limit resets, such as `12ms`, `1s` or `6m0s`.",
    schema: { type: "string" },
  },
};

export const publicApi: Api = {
  title: "Tollgate API",
  summary: "Prepaid, metered text generation and embeddings, compatible with the OpenAI API.",
  description: INTRODUCTION,
  tags: [
    { name: "Generation", description: "Generate text from a prompt." },
    { name: "Embeddings", description: "Turn texts into vectors." },
    { name: "Catalogue", description: "The models and their prices." },
    { name: "Status", description: "The platform's current state and availability." },
    { name: "Receipts", description: "Verify what was counted and charged." },
  ],
  credential: {
    name: "apiKey",
    scheme: {
      type: "http",
      scheme: "bearer",
      description:
        "`Authorization: Bearer tsk_live_<reference>_<secret>`. A missing, malformed, unknown or revoked key always gets the same 401.",
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
  refusals: PUBLIC_REFUSALS,
  error: ErrorEnvelope,
};
