import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { Fault } from "../faults.ts";
import type { HoldOutcome } from "../ledger/hold.ts";
import { computeHoldAmount } from "../ledger/request-costs.ts";
import { type ActiveModel, type Catalogue, loadCatalogue } from "../metering/catalogue.ts";
import { openTokenMetering, type TokenMetering } from "../metering/metering.ts";
import { chat } from "../routes/openai/chat.ts";
import { completions } from "../routes/openai/completions.ts";
import { embeddings } from "../routes/openai/embeddings.ts";
import { computeOutputCap, computeOutputTokensLeft, countPromptTokens, placeHold } from "./admit.ts";
import type { ParsedRequest } from "./endpoint.ts";
import { quoteRequest } from "./price-quote.ts";
import type { RequestPathDependencies } from "./request-path-dependencies.ts";

/** Texts that client libraries search for in an error message, from their source code (2026-11). */
const CLIENTS = {
  // For this sentence, litellm and aider throw a ContextWindowExceededError.
  litellm: /this model's maximum context length is/i,
  langchainForPython: /context_length_exceeded/,
  langchainForNode: /maximum context length/,
  mods: /This model's maximum context length is (\d+) tokens. However, your messages resulted in (\d+) tokens/,
};

describe("admission of prompts by the context limit", () => {
  let catalogue: Catalogue;
  let metering: TokenMetering;
  before(async () => {
    catalogue = await loadCatalogue(new URL("../../catalogue/models.json", import.meta.url));
    metering = await openTokenMetering({ log: createLog("silent") });
  });
  after(() => metering.close());

  const modelOf = (id: string): ActiveModel => catalogue.active.get(id) as ActiveModel;
  const count = (model: ActiveModel, ask: ParsedRequest): Promise<number> => {
    const meter = metering.meter(model.build.tokenizer);
    assert.ok(meter !== undefined);
    return countPromptTokens(meter, model, ask);
  };
  const said = (words: number, more: object = {}): ParsedRequest =>
    chat.parse({ model: "tiny-3b", messages: [{ role: "user", content: " word".repeat(words) }], ...more });
  const refusal = async (model: string, ask: ParsedRequest): Promise<{ param: unknown; message: string }> => {
    const refused = await count(modelOf(model), ask).then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.ok(refused instanceof Fault && refused.status === 400, String(refused));
    const { param, message } = refused.body().error;
    return { param, message };
  };
  const LIMIT = 8192;
  /** The number of tokens that the chat template adds to a message. */
  let around: number;
  before(async () => {
    around = (await count(modelOf("tiny-3b"), said(10))) - 10;
  });

  test("refuses a prompt that fills the model's context, and accepts one with a token less", async () => {
    assert.equal(await count(modelOf("tiny-3b"), said(LIMIT - 1 - around)), LIMIT - 1);
    assert.deepEqual(await refusal("tiny-3b", said(LIMIT - around)), {
      param: "messages",
      message:
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 8192 tokens. " +
        "Please reduce the length of the messages, to leave room for one token of output (context_length_exceeded).",
    });
  });

  test("stops counting the tokens of a prompt that is far too long", async () => {
    const { message } = await refusal("tiny-3b", said(100_000));
    const tokens = Number(CLIENTS.mods.exec(message)?.[2]);
    assert.ok(tokens > 2 * (LIMIT - 1) && tokens < 100_000, message);
    assert.ok(message.includes(`resulted in ${tokens} tokens or more. `), message);
  });

  test("refuses a long prompt in words that make client libraries shorten it, whether or not counting finished", async () => {
    for (const words of [LIMIT - around, LIMIT, 100_000]) {
      const { message } = await refusal("tiny-3b", said(words));
      for (const [client, pattern] of Object.entries(CLIENTS)) assert.match(message, pattern, client);
    }
  });

  test("names the prompt field when it refuses a completion", async () => {
    const ask = completions.parse({ model: "tiny-3b", prompt: " word".repeat(LIMIT) });
    assert.deepEqual(await refusal("tiny-3b", ask), {
      param: "prompt",
      message:
        "This model's maximum context length is 8192 tokens. However, your prompt resulted in 8193 tokens. " +
        "Please reduce the length of the prompt (context_length_exceeded).",
    });
  });

  test("accepts an embedding input that fills the context, and names the element that does not fit", async () => {
    const text = (words: number): string => "word ".repeat(words);
    const ask = (input: string | string[]): ParsedRequest => embeddings.parse({ model: "embed-m3", input });
    const model = modelOf("embed-m3");
    const wordsMax = LIMIT - 2;
    assert.equal(await count(model, ask(text(wordsMax))), LIMIT);
    assert.deepEqual(await refusal("embed-m3", ask(["short", text(wordsMax + 1)])), {
      param: "input[1]",
      message:
        "This model's maximum context length is 8192 tokens. However, your input resulted in 8193 tokens. " +
        "Please reduce the length of the input (context_length_exceeded).",
    });
    assert.equal((await refusal("embed-m3", ask(text(wordsMax + 1)))).param, "input");
  });

  test("limits output to the context left by the prompt, but holds credit for the requested maximum", async () => {
    const model = modelOf("tiny-3b");
    const rows: [maxTokens: number | undefined, promptTokens: number, cap: number, room: number][] = [
      [undefined, 100, LIMIT, LIMIT - 100],
      [50, 100, 50, 50],
      [LIMIT, 8_000, LIMIT, 192],
      [1_000_000, 8_191, LIMIT, 1],
      [LIMIT, 7_435, LIMIT, 757],
      [1, 8_191, 1, 1],
    ];
    for (const [max_tokens, promptTokens, cap, room] of rows) {
      assert.equal(computeOutputCap(model, said(1, { max_tokens })), cap);
      assert.equal(computeOutputTokensLeft(model, { cap, promptTokens }), room);
    }
    const gw = {
      catalogue: () => catalogue,
      meter: (name: string) => metering.meter(name) as never,
      reader: { read: () => Promise.reject(new Error("this body is small")) },
    };
    const body = { model: "tiny-3b", messages: [{ role: "user", content: " word".repeat(8_000) }] };
    const call = { sdk: null, readBody: async () => ({ isSmall: true, json: () => body }) } as never;
    const quoted = await quoteRequest(gw, { endpoint: chat, call, payer: "a" });
    assert.equal(quoted.outputTokensMax, LIMIT);
    assert.equal(quoted.hold, computeHoldAmount(model.prices, { prompt: quoted.promptTokens, outputMax: LIMIT }));
  });
});

describe("the amounts in a 402 (insufficient credit)", () => {
  /** The error for a request of one prompt token at 1.000001 microdollars, with this result of the hold. */
  const refusal = async (outcome: HoldOutcome, kind = "embedding"): Promise<Fault> => {
    const gw = { ledger: { hold: async () => outcome }, unfunded: { count() {} } };
    const model = { id: "m", kind, contextLimit: 8, prices: { in: pico(1_000_001n), out: pico(0n) }, build: {} };
    const parts = { call: {}, key: { name: "k" }, endpoint: {}, ask: {}, model, meter: {}, promptTokens: 1 };
    const refused = await placeHold(
      gw as unknown as RequestPathDependencies,
      parts as unknown as Parameters<typeof placeHold>[1],
    ).then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.ok(refused instanceof Fault && refused.status === 402, String(refused));
    return refused;
  };

  for (const [what, outcome] of [
    ["the balance", { kind: "exceeds_balance", available: pico(999_999n) }],
    ["a budget", { kind: "exceeds_budget", of: "day", available: pico(999_999n) }],
  ] as const) {
    test(`rounds required_micro up and available_micro down when ${what} is too small`, async () => {
      const { code, required_micro, available_micro, message } = (await refusal(outcome)).body().error;
      assert.deepEqual([code, required_micro, available_micro], ["hold_exceeds_balance", 2, 0]);
      assert.match(String(message), /\b2 microdollars/);
    });
  }

  test("come with a remedy that fits the model: lower max_tokens for a generation, less input for an embedding", async () => {
    for (const outcome of [
      { kind: "exceeds_balance", available: pico(1n) },
      { kind: "exceeds_budget", of: "month", available: pico(1n) },
    ] as const) {
      const [embedding, generation] = [await refusal(outcome), await refusal(outcome, "generation")];
      assert.match(embedding.message, /[Ss]end less input/);
      assert.doesNotMatch(embedding.message, /output|max_tokens/);
      assert.match(generation.message, /[Ll]ower max_tokens/);
    }
  });

  test("report an available balance of zero if the balance is negative", async () => {
    const { available_micro } = (await refusal({ kind: "exceeds_balance", available: pico(-1n) })).body().error;
    assert.equal(available_micro, 0);
  });
});
