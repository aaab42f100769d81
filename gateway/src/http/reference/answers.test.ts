import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { z } from "zod";
import { type FaultCode, fault, faults, invalidRequest, notFound, unsupportedEncoding } from "../../faults.ts";
import { parseCatalogue } from "../../metering/catalogue.ts";
import { modelList, rateSheet } from "../openai/catalogue.ts";
import { chat } from "../openai/chat.ts";
import { completions } from "../openai/completions.ts";
import { embeddings } from "../openai/embeddings.ts";
import { receiptKeyRoutes } from "../receipt-keys.ts";
import * as answers from "./answers.ts";
import { ErrorEnvelope, PUBLIC_CODES } from "./refusals.ts";
import * as samples from "./samples.ts";
import { bareApp, door } from "./testing/app.ts";

function fits(schema: z.ZodType, text: string): void {
  const result = schema.safeParse(JSON.parse(text));
  assert.ok(result.success, `${text}\n${result.error?.message}`);
}

const meta = { suffix: "06dfk3v8qe7z2m4x9t1c5n0bga", created: 1_790_000_000, model: "a-model" };
const usage = { promptTokens: 3, completionTokens: 2 };
const answer = { text: "hi", reasoning: undefined, finish: "stop", vectors: [], usage } as const;

describe("what the endpoints answer is what the schemas say", () => {
  for (const finish of ["stop", "length"] as const) {
    test(`whole answers that end with ${finish}`, () => {
      const given = { ...answer, vectors: [], finish };
      fits(answers.ChatCompletion, chat.whole(meta, given));
      fits(answers.ChatCompletion, chat.whole(meta, { ...given, reasoning: "" }));
      fits(answers.TextCompletion, completions.whole(meta, given));
    });
  }

  for (const includeUsage of [true, false]) {
    test(`every event of a stream ${includeUsage ? "with" : "without"} usage`, () => {
      for (const event of samples.chatEvents({ includeUsage })) fits(answers.ChatCompletionChunk, event);
      for (const event of samples.chatEvents({ includeUsage, reasoning: "so" }))
        fits(answers.ChatCompletionChunk, event);
      for (const event of samples.completionEvents({ includeUsage })) fits(answers.TextCompletionChunk, event);
    });
  }

  test("vectors", () => {
    const vectors = [Float32Array.of(0.1, -0.2), Float32Array.of(1, 0)];
    fits(answers.EmbeddingList, embeddings.whole(meta, { ...answer, vectors }));
  });

  test("both shapes of the catalogue", () => {
    const file = new URL("../../../catalogue/models.json", import.meta.url);
    const { entries } = parseCatalogue(readFileSync(file, "utf8"), "models.json");
    const measured = { ttftMs: 180.5, tokensPerSecond: 40 };
    fits(
      answers.ModelList,
      modelList(entries, () => measured),
    );
    fits(
      answers.ModelList,
      modelList(entries, () => ({ ttftMs: null, tokensPerSecond: null })),
    );
    fits(answers.RateSheet, rateSheet(entries));
  });

  test("the keys of receipts, as their door answers", async () => {
    const app = bareApp();
    receiptKeyRoutes(app, { door, keys: async () => [{ id: "a", public_key: "b" }] });
    const { payload } = await app.inject({ url: "/.well-known/tollgate-receipts" });
    fits(answers.ReceiptKeys, payload);
    await app.close();
  });

  test("every error of the public API", () => {
    for (const code of PUBLIC_CODES) fits(ErrorEnvelope, JSON.stringify(fault(code).body()));
    const extra = { required_micro: 2, available_micro: 1 };
    fits(ErrorEnvelope, JSON.stringify(fault("hold_exceeds_balance", { extra }).body()));
    for (const uncoded of [invalidRequest("model", "is wrong"), invalidRequest(null, "is wrong"), notFound("no")]) {
      fits(ErrorEnvelope, JSON.stringify(uncoded.body()));
    }
    fits(ErrorEnvelope, JSON.stringify(unsupportedEncoding("gzip").body()));
    const others = (Object.keys(faults) as FaultCode[]).filter((code) => !PUBLIC_CODES.includes(code));
    for (const code of others) assert.ok(!ErrorEnvelope.safeParse(fault(code).body()).success, code);
  });
});

test("a field that nobody documented is noticed, at any depth", () => {
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
