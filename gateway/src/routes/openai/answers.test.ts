import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { SAMPLE_ID_SUFFIX, SAMPLE_TIME } from "@tollgate/api/common-schemas.ts";
import { type FaultCode, faults } from "@tollgate/api/faults.ts";
import { ErrorEnvelope, PUBLIC_ERROR_CODES } from "@tollgate/api/public/public-error-codes.ts";
import * as answers from "@tollgate/api/public/response-schemas.ts";
import * as samples from "@tollgate/api/public/sample-requests-and-responses.ts";
import type { z } from "zod";
import { fault, invalidRequest, notFound, unsupportedEncoding } from "../../faults.ts";
import type { HistoryServices } from "../../history/services.ts";
import { createServerWithoutRoutes } from "../../http/server.ts";
import type { Answer, Endpoint } from "../../inference/endpoint.ts";
import { type CatalogueEntry, parseCatalogue } from "../../metering/catalogue.ts";
import { receiptKeyRoutes } from "../receipt-keys.ts";
import { makeTestHttpOptions } from "../testing/http-options.ts";
import { modelObject, renderModelList, renderRateSheet } from "./catalogue.ts";
import { chat } from "./chat.ts";
import { completions } from "./completions.ts";
import { embeddings } from "./embeddings.ts";

function fits(schema: z.ZodType, text: string): void {
  const result = schema.safeParse(JSON.parse(text));
  assert.ok(result.success, `${text}\n${result.error?.message}`);
}

const meta = { suffix: SAMPLE_ID_SUFFIX, created: SAMPLE_TIME, model: "a-model" };
const usage = { promptTokens: 14, completionTokens: 9 };
const answer = { text: "hi", reasoning: undefined, finish: "stop", vectors: [], usage } as const;

interface Streamed {
  model?: string;
  texts?: string[];
  includeUsage: boolean;
  reasoning?: string;
}

/** The events of a stream as JSON texts. */
function eventsOf(endpoint: Endpoint, options: Streamed): string[] {
  const { model = "a-model", texts = ["one", " two"], includeUsage, reasoning } = options;
  const writer = endpoint.stream?.({ ...meta, model }, { includeUsage });
  assert.ok(writer !== undefined);
  const opening = writer.open();
  return [
    ...(opening === null ? [] : [opening]),
    ...texts.map((text) => writer.delta(text)),
    writer.finish({ finish: "stop", reasoning }),
    ...(includeUsage ? [writer.usage(usage)] : []),
  ];
}

async function receiptKeysAnswer(...keys: { id: string; public_key: string }[]): Promise<string> {
  const app = createServerWithoutRoutes(makeTestHttpOptions());
  receiptKeyRoutes(app, { receipts: { keys: async () => keys } as HistoryServices["receipts"] });
  const { payload } = await app.inject({ url: "/.well-known/tollgate-receipts" });
  await app.close();
  return payload;
}

describe("responses of the public API match their schemas", () => {
  for (const finish of ["stop", "length"] as const) {
    test(`for whole responses that end with ${finish}`, () => {
      const given = { ...answer, vectors: [], finish };
      fits(answers.ChatCompletion, chat.whole(meta, given));
      fits(answers.ChatCompletion, chat.whole(meta, { ...given, reasoning: "" }));
      fits(answers.ChatCompletion, chat.whole({ ...meta, reasoningContent: true }, { ...given, reasoning: "so" }));
      fits(answers.TextCompletion, completions.whole(meta, given));
      const thought = { ...given, usage: { ...usage, reasoningTokens: 0 } };
      fits(answers.ChatCompletion, chat.whole(meta, thought));
      fits(answers.TextCompletion, completions.whole(meta, thought));
    });
  }

  for (const includeUsage of [true, false]) {
    test(`for stream events ${includeUsage ? "with" : "without"} usage`, () => {
      for (const event of eventsOf(chat, { includeUsage })) fits(answers.ChatCompletionChunk, event);
      for (const event of eventsOf(chat, { includeUsage, reasoning: "so" })) fits(answers.ChatCompletionChunk, event);
      for (const event of eventsOf(completions, { includeUsage })) fits(answers.TextCompletionChunk, event);
    });
  }

  test("for embeddings", () => {
    const vectors = [Float32Array.of(0.1, -0.2), Float32Array.of(1, 0)];
    fits(answers.EmbeddingList, embeddings.whole(meta, { ...answer, vectors }));
  });

  test("for both formats of the model list", () => {
    const file = new URL("../../../catalogue/models.json", import.meta.url);
    const { entries } = parseCatalogue(readFileSync(file, "utf8"), "models.json");
    const measured = { ttftMs: 180.5, tokensPerSecond: 40 };
    fits(
      answers.ModelList,
      renderModelList(entries, { speedOf: () => measured, keepsFormat: () => true, allowed: null }),
    );
    fits(
      answers.ModelList,
      renderModelList(entries, {
        speedOf: () => ({ ttftMs: null, tokensPerSecond: null }),
        keepsFormat: () => false,
        allowed: ["tiny-3b"],
      }),
    );
    fits(answers.RateSheet, renderRateSheet(entries));
  });

  test("for receipt keys", async () => {
    fits(answers.ReceiptKeys, await receiptKeysAnswer({ id: "a", public_key: "b" }));
  });

  test("for errors of the public API", () => {
    for (const code of PUBLIC_ERROR_CODES) fits(ErrorEnvelope, JSON.stringify(fault(code).body()));
    const extra = { required_micro: 2, available_micro: 1 };
    fits(ErrorEnvelope, JSON.stringify(fault("hold_exceeds_balance", { extra }).body()));
    for (const uncoded of [invalidRequest("model", "is wrong"), invalidRequest(null, "is wrong"), notFound("no")]) {
      fits(ErrorEnvelope, JSON.stringify(uncoded.body()));
    }
    fits(ErrorEnvelope, JSON.stringify(unsupportedEncoding("gzip").body()));
    const others = (Object.keys(faults) as FaultCode[]).filter((code) => !PUBLIC_ERROR_CODES.includes(code));
    for (const code of others) assert.ok(!ErrorEnvelope.safeParse(fault(code).body()).success, code);
  });
});

test("the comparison of a response with its schema finds a field that the schema lacks, at any depth", () => {
  const whole = JSON.parse(chat.whole(meta, { ...answer, vectors: [] }));
  for (const broken of [
    { ...whole, system_fingerprint: "x" },
    { ...whole, choices: [{ ...whole.choices[0], logprobs: null }] },
    { ...whole, usage: { ...whole.usage, cost: 1 } },
    { ...whole, choices: [] },
    { ...whole, id: "chatcmpl-1" },
  ]) {
    assert.ok(!answers.ChatCompletion.safeParse(broken).success, JSON.stringify(broken));
  }
});

describe("examples in the OpenAPI document equal real responses byte by byte", () => {
  const made = (model: string, text: string): [typeof meta, Answer] => [
    { ...meta, model },
    { ...answer, text, vectors: [] },
  ];
  const RIVERS = "The Danube, the Rhine and the Volga.";

  test("for whole responses", () => {
    assert.equal(chat.whole(...made("small-8b", RIVERS)), JSON.stringify(samples.sampleChatResponse));
    const [about, plain] = made("reason-32b", RIVERS);
    const reasoned = { ...plain, reasoning: "Any three will do.", usage: { ...usage, reasoningTokens: 5 } };
    assert.equal(chat.whole(about, reasoned), JSON.stringify(samples.sampleReasoningResponse));
    assert.equal(
      completions.whole(...made("tiny-3b", " the Volga.")),
      JSON.stringify(samples.sampleCompletionResponse),
    );
  });

  test("for stream events", () => {
    const texts = ["The Danube,", " the Rhine and the Volga."];
    const written = (events: object[]): string[] => events.map((event) => JSON.stringify(event));
    assert.deepEqual(
      eventsOf(chat, { model: "small-8b", texts, includeUsage: true }),
      written(samples.sampleChatEvents),
    );
    assert.deepEqual(
      eventsOf(completions, { model: "tiny-3b", texts: [" the", " Volga."], includeUsage: false }),
      written(samples.sampleCompletionEvents),
    );
  });

  test("for embeddings", () => {
    const vectors = samples.sampleEmbeddingResponse.data.map(({ embedding }) => Float32Array.from(embedding));
    const [about, plain] = made("embed-m3", "");
    assert.equal(embeddings.whole(about, { ...plain, vectors }), JSON.stringify(samples.sampleEmbeddingResponse));
  });

  test("for both formats of the model list", () => {
    const active: CatalogueEntry = {
      id: "reason-32b",
      kind: "generation",
      class: "reasoning",
      quant_label: "4-bit",
      context_limit: 32_768,
      price_in_micro_1m: 100_000,
      price_out_micro_1m: 300_000,
      status: "active",
      listed: "2026-09-01",
      build: { id: "reason-32b-q4-1", tokenizer: "qwen2.5", reasoning: { open: "<think>", close: "</think>" } },
    };
    const coming: CatalogueEntry = {
      id: "large-70b",
      kind: "generation",
      class: "large",
      quant_label: "unannounced",
      context_limit: null,
      price_in_micro_1m: null,
      price_out_micro_1m: null,
      status: "coming",
      listed: "2026-09-01",
      build: null,
    };
    const speeds = { ttftMs: 180, tokensPerSecond: 42.5 };
    const unmeasured = { ttftMs: null, tokensPerSecond: null };
    const live = {
      speedOf: (id: string) => (id === active.id ? speeds : unmeasured),
      keepsFormat: (id: string) => id === active.id,
      allowed: null,
    };
    assert.equal(renderModelList([active, coming], live), JSON.stringify(samples.sampleModels));
    assert.deepEqual(modelObject(active, live), samples.sampleActiveModel);
    assert.equal(renderRateSheet([active, coming]), JSON.stringify(samples.sampleRates));
  });

  test("for receipt keys", async () => {
    assert.equal(await receiptKeysAnswer(...samples.sampleReceiptKeys.keys), JSON.stringify(samples.sampleReceiptKeys));
  });

  test("for requests: the gateway accepts each example unchanged", () => {
    for (const request of [
      samples.sampleChatRequest,
      samples.sampleStreamingChatRequest,
      samples.sampleStructuredOutputRequest,
    ])
      chat.parse(request);
    completions.parse(samples.sampleCompletionRequest);
    embeddings.parse(samples.sampleEmbeddingRequest);
  });
});
