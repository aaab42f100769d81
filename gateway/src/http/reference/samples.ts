/**
 * The examples of the document, made by the endpoints' own code: they cannot show a shape that the gateway does not
 * answer with.
 */
import type { Answer } from "../../inference/endpoint.ts";
import type { CatalogueEntry } from "../../metering/catalogue.ts";
import { modelList, rateSheet } from "../openai/catalogue.ts";
import { chat } from "../openai/chat.ts";
import { completions } from "../openai/completions.ts";
import { embeddings } from "../openai/embeddings.ts";

const SUFFIX = "06dfk3v8qe7z2m4x9t1c5n0bga";
const CREATED = 1_790_000_000;
const USAGE = { promptTokens: 14, completionTokens: 9 };

const meta = (model: string) => ({ suffix: SUFFIX, created: CREATED, model });
const answer = (text: string): Answer => ({ text, reasoning: undefined, finish: "stop", vectors: [], usage: USAGE });

export const requests = {
  chat: {
    model: "small-8b",
    messages: [{ role: "user", content: "Name three rivers of Europe." }],
    max_tokens: 64,
  },
  chatStream: {
    model: "small-8b",
    messages: [{ role: "user", content: "Name three rivers of Europe." }],
    max_tokens: 64,
    stream: true,
    stream_options: { include_usage: true },
  },
  completion: { model: "tiny-3b", prompt: "The longest river of Europe is", max_tokens: 16 },
  embedding: { model: "embed-m3", input: ["the Danube", "the Rhine"] },
};

export function wholeChat(): unknown {
  return JSON.parse(chat.whole(meta("small-8b"), answer("The Danube, the Rhine and the Volga.")));
}

export function wholeReasoning(): unknown {
  const reasoned = { ...answer("The Danube, the Rhine and the Volga."), reasoning: "Any three will do." };
  return JSON.parse(chat.whole(meta("reason-32b"), reasoned));
}

export function wholeCompletion(): unknown {
  return JSON.parse(completions.whole(meta("tiny-3b"), answer(" the Volga.")));
}

/** The vectors are cut to three numbers: real ones have the model's native width. */
export function wholeEmbedding(): unknown {
  const vectors = [Float32Array.of(0.015625, -0.0625, 0.25), Float32Array.of(-0.03125, 0.125, 0.5)];
  return JSON.parse(embeddings.whole(meta("embed-m3"), { ...answer(""), vectors }));
}

/** The events of a stream, each as its JSON text. */
export function chatEvents(options: { includeUsage: boolean; reasoning?: string }): string[] {
  const model = options.reasoning === undefined ? "small-8b" : "reason-32b";
  return eventsOf(chat, { model, texts: ["The Danube,", " the Rhine and the Volga."], ...options });
}

export function completionEvents(options: { includeUsage: boolean }): string[] {
  return eventsOf(completions, { model: "tiny-3b", texts: [" the", " Volga."], ...options });
}

function eventsOf(
  endpoint: typeof chat,
  {
    model,
    texts,
    includeUsage,
    reasoning,
  }: { model: string; texts: string[]; includeUsage: boolean; reasoning?: string },
): string[] {
  const writer = endpoint.stream?.(meta(model), { includeUsage });
  if (writer === undefined) return [];
  const opening = writer.open();
  return [
    ...(opening === null ? [] : [opening]),
    ...texts.map((text) => writer.delta(text)),
    writer.finish({ finish: "stop", reasoning }),
    ...(includeUsage ? [writer.usage(USAGE)] : []),
  ];
}

/** As it goes over the wire. */
export function transcript(events: string[]): string {
  return [...events, "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
}

const ACTIVE: CatalogueEntry = {
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
const COMING: CatalogueEntry = {
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

export function models(): unknown {
  const speeds = { ttftMs: 180, tokensPerSecond: 42.5 };
  const unmeasured = { ttftMs: null, tokensPerSecond: null };
  return JSON.parse(modelList([ACTIVE, COMING], (id) => (id === ACTIVE.id ? speeds : unmeasured)));
}

export function rates(): unknown {
  return JSON.parse(rateSheet([ACTIVE, COMING]));
}

export function receiptKeys(): unknown {
  const key = { id: "3f1c9a0b7d5e2846", public_key: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
  return { object: "receipt.keys", algorithm: "ed25519", keys: [key] };
}
