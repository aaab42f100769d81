/**
 * The public API as an OpenAPI 3.1 document. Requests are the schemas that validate them, errors are the catalogue of
 * faults, examples are made by the endpoints: what is written by hand here is prose.
 */

import {
  type Document,
  type Example,
  type Media,
  type Operation,
  type Response,
  textOf,
} from "@tollgate/api/openapi/openapi.ts";
import { forAnswers, jsonSchemas } from "@tollgate/api/openapi/schemas.ts";
import { ChatRequest, CompletionRequest, EmbeddingRequest, Message } from "@tollgate/api/public/fields.ts";
import type { z } from "zod";
import {
  ChatCompletion,
  ChatCompletionChunk,
  EmbeddingList,
  ModelList,
  ModelObject,
  Rate,
  RateSheet,
  ReceiptKeys,
  TextCompletion,
  TextCompletionChunk,
  Usage,
} from "./answers.ts";
import { HEADERS, type HeaderName, headerRefs, RATE_LIMIT_HEADERS } from "./headers.ts";
import * as prose from "./prose.ts";
import { ErrorEnvelope, REFUSALS, refusalRefs, refusalResponses } from "./refusals.ts";
import * as samples from "./samples.ts";

const REQUESTS = {
  ChatRequest,
  ChatMessage: Message,
  CompletionRequest,
  EmbeddingRequest,
} satisfies Record<string, z.ZodType>;

const ANSWERS = {
  ChatCompletion,
  ChatCompletionChunk,
  TextCompletion,
  TextCompletionChunk,
  EmbeddingList,
  ModelList,
  Model: ModelObject,
  RateSheet,
  Rate,
  ReceiptKeys,
  Usage,
  Error: ErrorEnvelope,
} satisfies Record<string, z.ZodType>;

type SchemaName = keyof typeof REQUESTS | keyof typeof ANSWERS;

export function publicApi(): Document {
  return {
    openapi: "3.1.0",
    info: { title: "Tollgate API", version: "1", summary: prose.SUMMARY, description: prose.INTRODUCTION },
    servers: [{ url: "/", description: "The gateway that serves this document." }],
    security: [{ apiKey: [] }],
    tags: prose.TAGS,
    paths: {
      "/v1/chat/completions": { post: chatOperation() },
      "/v1/completions": { post: completionOperation() },
      "/v1/embeddings": { post: embeddingOperation() },
      "/v1/models": { get: modelsOperation() },
      "/v1/catalog/rates": { get: ratesOperation() },
      "/.well-known/tollgate-receipts": { get: receiptKeysOperation() },
    },
    components: {
      securitySchemes: { apiKey: { type: "http", scheme: "bearer", description: prose.KEYS } },
      schemas: { ...jsonSchemas(REQUESTS), ...jsonSchemas(ANSWERS, forAnswers) },
      responses: refusalResponses(),
      headers: HEADERS,
    },
  };
}

function chatOperation(): Operation {
  return {
    operationId: "createChatCompletion",
    summary: "Answer a conversation",
    description: prose.CHAT,
    tags: ["Generation"],
    requestBody: body("ChatRequest", {
      whole: { value: samples.requests.chat },
      stream: { value: samples.requests.chatStream },
    }),
    responses: {
      200: answer(prose.GENERATED, {
        "application/json": media("ChatCompletion", {
          answer: { summary: "An answer", value: samples.wholeChat() },
          reasoning: { summary: "An answer of a model that thinks apart", value: samples.wholeReasoning() },
        }),
        "text/event-stream": stream(
          "ChatCompletionChunk",
          prose.CHAT_STREAM,
          samples.chatEvents({ includeUsage: true }),
        ),
      }),
      ...refusalRefs(REFUSALS.inference),
    },
  };
}

function completionOperation(): Operation {
  return {
    operationId: "createCompletion",
    summary: "Complete a text",
    description: prose.COMPLETION,
    tags: ["Generation"],
    requestBody: body("CompletionRequest", { whole: { value: samples.requests.completion } }),
    responses: {
      200: answer(prose.GENERATED, {
        "application/json": media("TextCompletion", { answer: { value: samples.wholeCompletion() } }),
        "text/event-stream": stream(
          "TextCompletionChunk",
          prose.COMPLETION_STREAM,
          samples.completionEvents({ includeUsage: false }),
        ),
      }),
      ...refusalRefs(REFUSALS.inference),
    },
  };
}

function embeddingOperation(): Operation {
  return {
    operationId: "createEmbedding",
    summary: "Turn texts into vectors",
    description: prose.EMBEDDING,
    tags: ["Embeddings"],
    requestBody: body("EmbeddingRequest", { texts: { value: samples.requests.embedding } }),
    responses: {
      200: answer("One vector per input.", {
        "application/json": media("EmbeddingList", {
          vectors: { summary: "Cut to three numbers a vector", value: samples.wholeEmbedding() },
        }),
      }),
      ...refusalRefs(REFUSALS.inference),
    },
  };
}

function modelsOperation(): Operation {
  return {
    operationId: "listModels",
    summary: "List the models",
    description: prose.MODELS,
    tags: ["Catalogue"],
    responses: {
      200: answer("Every listed model.", {
        "application/json": media("ModelList", { models: { value: samples.models() } }),
      }),
      ...refusalRefs(REFUSALS.keyed),
    },
  };
}

function ratesOperation(): Operation {
  return {
    operationId: "listRates",
    summary: "Read the price sheet",
    description: prose.RATES,
    tags: ["Catalogue"],
    security: [],
    responses: {
      200: openAnswer("The prices in force.", "RateSheet", { rates: { value: samples.rates() } }),
      ...refusalRefs(REFUSALS.open),
    },
  };
}

function receiptKeysOperation(): Operation {
  return {
    operationId: "listReceiptKeys",
    summary: "Read the keys that verify receipts",
    description: prose.RECEIPT_KEYS,
    tags: ["Receipts"],
    security: [],
    responses: {
      200: openAnswer("The published keys.", "ReceiptKeys", { keys: { value: samples.receiptKeys() } }),
      ...refusalRefs(REFUSALS.open),
    },
  };
}

const refTo = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` });

function media(name: SchemaName, examples: Record<string, Example>): Media {
  return { schema: refTo(name), examples };
}

function body(name: keyof typeof REQUESTS, examples: Record<string, Example>): NonNullable<Operation["requestBody"]> {
  return { required: true, content: { "application/json": media(name, examples) } };
}

/** The body of an event stream is text: the schema of its events stands beside it. */
function stream(name: SchemaName, description: string, events: string[]): Media {
  return {
    schema: { type: "string", description },
    "x-event-schema": { anyOf: [refTo(name), refTo("Error")] },
    examples: { stream: { summary: "A whole stream", value: samples.transcript(events) } },
  };
}

function answer(description: string, content: Record<string, Media>): Response {
  return { description, headers: headerRefs(["x-request-id", ...RATE_LIMIT_HEADERS]), content };
}

function openAnswer(description: string, name: SchemaName, examples: Record<string, Example>): Response {
  const headers: HeaderName[] = ["x-request-id", "cache-control"];
  return { description, headers: headerRefs(headers), content: { "application/json": media(name, examples) } };
}

export const publicApiText = (): string => textOf(publicApi());
