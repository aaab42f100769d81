/**
 * Tests successful requests to every public endpoint, with the official client and with raw HTTP, and their exact cost.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { makeScriptPrompt as scripted } from "@tollgate/stage/builder-requests.ts";
import {
  assertBalanced,
  readBuilderAccount,
  readHostAccount,
  readLastRecord,
  readPlatformAccount,
} from "@tollgate/stage/ledger-check.ts";
import { convertRequestIdToUuid, splitEvents } from "@tollgate/stage/raw-http.ts";
import { type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import OpenAI from "openai";
import { computeHostShare } from "../gateway/src/base/testing.ts";

const SERVED = ["tiny-3b", "small-8b", "small-7b-alt", "mid-14b", "reason-32b", "embed-m3"];

const script = (orders: object): { role: "user"; content: string }[] => [{ role: "user", content: scripted(orders) }];

describe("the public API", () => {
  let stage: InProcessStage;
  let client: OpenAI;
  let key: string;
  before(async () => {
    stage = await openStage({ as: "in-process", clock: "running", nodes: [{ models: SERVED }] });
    key = (await stage.builder()).key;
    client = new OpenAI({ apiKey: key, baseURL: `${stage.baseUrl}/v1`, maxRetries: 0 });
  });
  after(() => stage?.close());
  const post = (path: string, fields: object): Promise<Response> =>
    fetch(`${stage.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(fields),
    });

  test("a chat is charged exactly tokens × price; the host gets 70 % and the platform 30 %", async () => {
    const [builderBefore, hostBefore, feesBefore] = [
      await readBuilderAccount(stage),
      await readHostAccount(stage),
      await readPlatformAccount(stage),
    ];
    const answer = await client.chat.completions.create({
      model: "tiny-3b",
      messages: script({ text: "The quick brown fox jumps over the lazy dog." }),
      max_tokens: 50,
    });
    const [choice] = answer.choices;
    assert.equal(answer.choices.length, 1);
    assert.equal(choice?.message.content, "The quick brown fox jumps over the lazy dog.");
    assert.equal(choice?.finish_reason, "stop");
    assert.equal(answer.object, "chat.completion");
    assert.match(answer.id, /^chatcmpl-[0-9a-z]{26}$/);
    assert.ok(!("vendor_reasoning_content" in (choice?.message ?? {})));
    const { usage } = answer;
    assert.ok(usage && usage.prompt_tokens > 0);
    assert.equal(usage.completion_tokens, 10, "as the llama3 tokenizer counts it");
    assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);

    const charge = BigInt(usage.prompt_tokens) * 20_000n + BigInt(usage.completion_tokens) * 40_000n;
    const share = computeHostShare(charge);
    assert.equal(builderBefore.balance - (await readBuilderAccount(stage)).balance, charge);
    assert.equal((await readBuilderAccount(stage)).held, 0n);
    assert.equal((await readHostAccount(stage)).balance - hostBefore.balance, share);
    assert.equal((await readPlatformAccount(stage)).balance - feesBefore.balance, charge - share);

    const record = await readLastRecord(stage);
    assert.equal(record.outcome, "ok");
    assert.equal(BigInt(record.charge_pico), charge);
    assert.equal(BigInt(record.hold_pico), BigInt(usage.prompt_tokens) * 20_000n + 50n * 40_000n);
    assert.equal(record.attempts, 1);
    await assertBalanced(stage);
  });

  test("a streamed chat arrives in chunks of OpenAI's format, followed by its usage", async () => {
    const stream = await client.chat.completions.create({
      model: "small-8b",
      messages: script({ text: "one two three" }),
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: "assistant", content: "" });
    assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), "one two three");
    assert.equal(chunks.at(-2)?.choices[0]?.finish_reason, "stop");
    assert.deepEqual(chunks.at(-1)?.choices, []);
    assert.equal(chunks.at(-1)?.usage?.completion_tokens, 3);
    assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
    for (const chunk of chunks.slice(0, -1)) assert.equal(chunk.usage, null);
  });

  test("reasoning counts as output and is in a separate field; in a stream, the last delta contains the whole reasoning", async () => {
    const orders = { reasoning: "I think about it.", text: "It is so." };
    const whole = await client.chat.completions.create({ model: "reason-32b", messages: script(orders) });
    const message = whole.choices[0]?.message as unknown as { content: string; vendor_reasoning_content: string };
    assert.deepEqual([message.content, message.vendor_reasoning_content], ["It is so.", "I think about it."]);
    assert.equal(whole.usage?.completion_tokens, 5 + 4);
    assert.deepEqual(whole.usage?.completion_tokens_details, { reasoning_tokens: 5 });
    assert.equal((await readLastRecord(stage)).reasoning_tokens, 5);

    const streamed = { stream: true, stream_options: { include_usage: true } } as const;
    const chunks = await Array.fromAsync(
      await client.chat.completions.create({ model: "reason-32b", messages: script(orders), ...streamed }),
    );
    assert.deepEqual(chunks.pop()?.usage, whole.usage);
    assert.deepEqual(chunks.at(-1)?.choices[0], {
      index: 0,
      delta: { vendor_reasoning_content: "I think about it." },
      finish_reason: "stop",
    });
    assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), "It is so.");
  });

  test("a node that sends more output than the cap is stopped, and only the output up to the cap is charged", async () => {
    const answer = await client.chat.completions.create({
      model: "tiny-3b",
      messages: script({ tokens: 500, overrun: true, claim_tokens: 100_000 }),
      max_tokens: 7,
    });
    assert.equal(answer.choices[0]?.finish_reason, "length");
    assert.equal(answer.usage?.completion_tokens, 7);
    assert.equal((await readLastRecord(stage)).completion_tokens, 7);
    await assertBalanced(stage);
  });

  test("an array of prompts is joined into one prompt and gets one completion, streamed or not", async () => {
    const prompt = [`#script ${JSON.stringify({ text: "four five" })}`];
    const whole = await client.completions.create({ model: "mid-14b", prompt });
    assert.equal(whole.object, "text_completion");
    assert.match(whole.id, /^cmpl-/);
    assert.deepEqual(
      whole.choices.map(({ index, text, finish_reason }) => ({ index, text, finish_reason })),
      [{ index: 0, text: "four five", finish_reason: "stop" }],
    );
    const chunks = await Array.fromAsync(await client.completions.create({ model: "mid-14b", prompt, stream: true }));
    assert.equal(chunks.map((chunk) => chunk.choices[0]?.text).join(""), "four five");
    assert.ok(chunks.every((chunk) => chunk.object === "text_completion"));
    assert.equal((await readLastRecord(stage)).endpoint, "completion");
  });

  test("embeddings are one vector of 1,024 values per input, in order, and only the input is charged", async () => {
    const input = ["first", "second", "first"];
    const list = await client.embeddings.create({ model: "embed-m3", input, encoding_format: "float" });
    assert.equal(list.object, "list");
    assert.deepEqual(
      list.data.map(({ index }) => index),
      [0, 1, 2],
    );
    for (const { embedding } of list.data) {
      assert.equal(embedding.length, 1024);
      assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-3);
    }
    assert.deepEqual(list.data[0]?.embedding, list.data[2]?.embedding);
    assert.notDeepEqual(list.data[0]?.embedding, list.data[1]?.embedding);
    assert.equal(list.usage.total_tokens, list.usage.prompt_tokens);
    const record = await readLastRecord(stage);
    assert.equal(BigInt(record.charge_pico), BigInt(list.usage.prompt_tokens) * 10_000n);
    assert.equal(record.hold_pico, record.charge_pico);
  });

  test("a response, its header and its record have the same request ID, and the record has the key's name", async () => {
    const messages = script({ text: "one two" });
    const [prompt] = messages.map(({ content }) => content);
    const beganS = Math.floor(stage.clock.now() / 1000);
    for (const [path, prefix, fields] of [
      ["/v1/chat/completions", "chatcmpl-", { messages }],
      ["/v1/chat/completions", "chatcmpl-", { messages, stream: true }],
      ["/v1/completions", "cmpl-", { prompt }],
      ["/v1/completions", "cmpl-", { prompt, stream: true }],
    ] as const) {
      const response = await post(path, { model: "tiny-3b", ...fields });
      const text = await response.text();
      const chunks = text.startsWith("data: ") ? splitEvents(text).slice(0, -1) : [text];
      const answers = chunks.map((chunk) => JSON.parse(chunk) as { id: string; created: number });
      const requestId = response.headers.get("x-request-id") as string;
      for (const { id, created } of answers) {
        assert.equal(id, requestId.replace("req_", prefix));
        assert.ok(
          Number.isInteger(created) && created >= beganS && created <= stage.clock.now() / 1000,
          "Unix seconds",
        );
      }
      const [record] = await stage.query<{ key_name: string; stream: boolean; model: string }>(
        "select key_name, stream, model from request where id = $1",
        [convertRequestIdToUuid(requestId)],
      );
      assert.deepEqual(record, { key_name: "made", stream: "stream" in fields, model: "tiny-3b" });
    }
  });

  test("message roles, message parts and decoding parameters reach the model, for chats and for completions", async () => {
    const [order] = script({ text: "for the user" });
    const { content } = order as { content: string };
    const answer = await client.chat.completions.create({
      model: "tiny-3b",
      messages: [
        { role: "system", content: "#script nothing" },
        {
          role: "user",
          content: [
            { type: "text", text: content.slice(0, 12) },
            { type: "text", text: content.slice(12) },
          ],
        },
        { role: "assistant", content: "#script nothing" },
      ],
    });
    assert.equal(answer.choices[0]?.message.content, "for the user");

    const model = "mid-14b";
    const asks = [
      async (more: object): Promise<string | undefined> => {
        const { choices } = await client.completions.create({ model, prompt: "say something", ...more });
        return choices[0]?.text;
      },
      async (more: object): Promise<string | null | undefined> => {
        const messages = [{ role: "user" as const, content: "say something" }];
        const { choices } = await client.chat.completions.create({ model, messages, ...more });
        return choices[0]?.message.content;
      },
    ];
    for (const ask of asks) {
      const whole = (await ask({ seed: 1 })) as string;
      assert.equal(await ask({ seed: 1 }), whole);
      assert.notEqual(await ask({ seed: 2 }), whole);
      const stop = whole.split(" ")[5] as string;
      assert.equal(await ask({ seed: 1, stop: [stop] }), whole.slice(0, whole.indexOf(stop)));
    }
  });

  test("ignored fields do not change the answer, and a missing prompt counts as an empty one", async () => {
    const answerOf = async <T>(path: string, fields: object): Promise<T> => {
      const response = await post(path, fields);
      assert.equal(response.status, 200);
      return (await response.json()) as T;
    };
    const ignored = { encoding_format: "base64", dimensions: 3, user: "me" };
    const list = await answerOf<{ data: { embedding: number[] }[] }>("/v1/embeddings", {
      model: "embed-m3",
      input: "one",
      ...ignored,
    });
    assert.equal(list.data[0]?.embedding.length, 1024);
    assert.ok(list.data[0]?.embedding.every((value) => typeof value === "number"));

    const ask = { model: "tiny-3b", prompt: script({ text: "four five" })[0]?.content };
    const completion = await answerOf<{ choices: object[] }>("/v1/completions", {
      ...ask,
      echo: true,
      logprobs: 3,
      best_of: 2,
      suffix: "six",
    });
    assert.deepEqual(completion.choices, [{ index: 0, text: "four five", finish_reason: "stop" }]);
    const empty = await answerOf<{ usage: { prompt_tokens: number } }>("/v1/completions", { model: "mid-14b" });
    assert.equal(empty.usage.prompt_tokens, 0, "the qwen2.5 tokenizer adds nothing to an empty prompt");
  });

  test("models are listed with their speeds, and the list of rates has the host's share", async () => {
    // Enough tokens at a steady pace to measure the node's speed: more than in the probe when the node starts.
    for (let i = 0; i < 3; i++) {
      await client.chat.completions.create({ model: "tiny-3b", messages: script({ tokens: 30, delta_ms: 5 }) });
    }
    const { data } = await client.models.list();
    const { vendor } = data[0] as unknown as { vendor: { ttft_p50_ms: number; tps_p50: number } };
    assert.ok(vendor.ttft_p50_ms >= 0 && vendor.tps_p50 > 0, JSON.stringify(vendor));
    assert.equal((data[7] as unknown as { vendor: { tps_p50: null } }).vendor.tps_p50, null);
    assert.equal(data.length, 8);
    const one = await client.models.retrieve("embed-m3");
    const { ttft_p50_ms: _, tps_p50: __, ...facts } = (one as unknown as { vendor: Record<string, unknown> }).vendor;
    assert.deepEqual([one.id, facts.kind, facts.status], ["embed-m3", "embedding", "active"]);
    const unknown = await client.models.retrieve("no/such model").catch((error: unknown) => error);
    assert.ok(unknown instanceof OpenAI.NotFoundError && unknown.code === "model_not_found");
    const shown = data.filter((model) => {
      const { kind, status } = (model as unknown as { vendor: { kind: string; status: string } }).vendor;
      return kind === "generation" && status === "active";
    });
    assert.deepEqual(
      shown.map(({ id }) => id),
      ["tiny-3b", "small-8b", "small-7b-alt", "mid-14b", "reason-32b"],
      "what a chat application shows",
    );
    assert.deepEqual(data.map(({ id }) => id).slice(0, 2), ["tiny-3b", "small-8b"]);
    const rates = await fetch(`${stage.baseUrl}/v1/catalog/rates`);
    assert.equal(rates.headers.get("cache-control"), "public, max-age=300");
    const again = await fetch(rates.url, { headers: { "if-none-match": rates.headers.get("etag") ?? "" } });
    assert.equal(again.status, 304);
    const sheet = (await rates.json()) as {
      payout_share: number;
      data: { sku_id: string; price_out_micro_1m: number | null }[];
    };
    assert.equal(sheet.payout_share, 0.7);
    assert.deepEqual(sheet.data.find(({ sku_id }) => sku_id === "large-70b")?.price_out_micro_1m, null);
  });

  test("without max_tokens, or with a larger one than the context allows, output ends at the context limit", async () => {
    for (const more of [{}, { max_tokens: 1_000_000 }]) {
      const answer = await client.chat.completions.create({
        model: "tiny-3b",
        messages: script({ tokens: 20_000, overrun: true }),
        ...more,
      });
      assert.equal(answer.choices[0]?.finish_reason, "length");
      assert.equal(answer.usage?.total_tokens, 8192);
      const { hold_pico, prompt_tokens } = await readLastRecord(stage);
      assert.equal(BigInt(hold_pico), BigInt(prompt_tokens) * 20_000n + 8192n * 40_000n);
    }
  });

  test("a prompt must leave room for one output token, and output ends where the context is full", async () => {
    const ask = (words: number, orders: object) =>
      client.chat.completions.create({
        model: "tiny-3b",
        messages: [{ role: "system", content: " word".repeat(words) }, ...script(orders)],
      });
    const orders = { tokens: 20_000, overrun: true };
    const around = ((await ask(10, orders)).usage?.prompt_tokens ?? 0) - 10;

    const long = await ask(7_435 - around, orders);
    assert.equal(long.choices[0]?.finish_reason, "length");
    assert.deepEqual(long.usage, { prompt_tokens: 7_435, completion_tokens: 757, total_tokens: 8_192 });

    const last = await ask(8_191 - around, orders);
    assert.equal(last.choices[0]?.finish_reason, "length");
    assert.deepEqual(last.usage, { prompt_tokens: 8_191, completion_tokens: 1, total_tokens: 8_192 });
    const record = await readLastRecord(stage);
    assert.deepEqual([record.finish_reason, record.completion_tokens], ["length", 1]);

    const jobs = async () => (await stage.query("select id from request")).length;
    const before = await jobs();
    const refused = await ask(8_192 - around, orders).catch((error: unknown) => error);
    assert.ok(refused instanceof OpenAI.BadRequestError);
    assert.equal(refused.param, "messages");
    assert.match(
      refused.message,
      /This model's maximum context length is 8192 tokens\. However, your messages resulted in 8192 tokens\./,
    );
    assert.equal(await jobs(), before, "nothing was dispatched");
  });

  test("output ends before a stop string even if the engine continues, and nothing after it is delivered or billed", async () => {
    const [payer, server] = [await readBuilderAccount(stage), await readHostAccount(stage)];
    const ask = { model: "tiny-3b", messages: script({ text: "one two END three four", ignore_stop: true }) };
    const answer = await client.chat.completions.create({ ...ask, stop: ["nothing", "END"] });
    assert.equal(answer.choices[0]?.message.content, "one two ");
    assert.equal(answer.choices[0]?.finish_reason, "stop");
    assert.equal(answer.usage?.completion_tokens, 3);
    const { charge_pico, finish_reason, prompt_tokens } = await readLastRecord(stage);
    const charge = BigInt(prompt_tokens) * 20_000n + 3n * 40_000n;
    assert.deepEqual([BigInt(charge_pico), finish_reason], [charge, "stop"]);
    assert.equal(payer.balance - (await readBuilderAccount(stage)).balance, charge);
    assert.equal((await readHostAccount(stage)).balance - server.balance, computeHostShare(charge));

    const parts: string[] = [];
    for await (const chunk of await client.chat.completions.create({ ...ask, stop: "two END", stream: true })) {
      parts.push(chunk.choices[0]?.delta.content ?? "");
      const finish = chunk.choices[0]?.finish_reason;
      if (finish) assert.equal(finish, "stop");
    }
    assert.equal(parts.join(""), "one ");

    // The stop string matches at once, so the answer is empty. The prompt is billed, and no other node is tried.
    const empty = await client.chat.completions.create({ ...ask, stop: "one" });
    assert.deepEqual([empty.choices[0]?.message.content, empty.choices[0]?.finish_reason], ["", "stop"]);
    assert.equal(empty.usage?.completion_tokens, 0);
    const record = await readLastRecord(stage);
    assert.deepEqual([record.outcome, record.attempts, record.completion_tokens], ["ok", 1, 0]);
    assert.ok(BigInt(record.charge_pico) > 0n && BigInt(record.host_pico) > 0n);
    await assertBalanced(stage);
  });
});
