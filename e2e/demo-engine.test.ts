/** Tests the built-in demo model on a whole platform: its engine generates real text, which is counted and billed. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import OpenAI from "openai";

describe("the demo model on a whole platform", () => {
  let dataDir: string;
  let platform: Platform;
  let client: OpenAI;
  before(async () => {
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--engine", "demo"]);
    client = new OpenAI({ apiKey: platform.ready.api_key, baseURL: `${platform.ready.gateway_url}/v1`, maxRetries: 0 });
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await removeDataDir(dataDir);
  });
  const ask = (model: string, content: string, more: object = {}) =>
    client.chat.completions.create({ model, messages: [{ role: "user", content }], temperature: 0, ...more });

  test("answers a question", async () => {
    const answer = await ask("tiny-3b", "What is the capital of France?");
    assert.match(answer.choices[0]?.message.content ?? "", /Paris/);
    assert.equal(answer.choices[0]?.finish_reason, "stop");
  });

  test("streams a story in many pieces", async () => {
    const stream = await client.chat.completions.create({
      model: "small-8b",
      messages: [{ role: "user", content: "Tell me a story about a fox" }],
      temperature: 0,
      stream: true,
    });
    const chunks = await Array.fromAsync(stream);
    assert.ok(chunks.length > 10, `${chunks.length} chunks`);
    assert.match(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), /fox/i);
  });

  test("returns a reasoning model's reasoning in a field of its own", async () => {
    const answer = await ask("reason-32b", "What is 47 + 38?");
    const message = answer.choices[0]?.message as unknown as { content: string; vendor_reasoning_content: string };
    assert.match(message.content, /85/);
    assert.ok(message.vendor_reasoning_content.length > 10);
    assert.ok(!message.content.includes("think>"));
  });

  test("stops at max_tokens, as counted by the gateway", async () => {
    const answer = await ask("tiny-3b", "Write a very long story about a dragon", { max_tokens: 12 });
    assert.equal(answer.choices[0]?.finish_reason, "length");
    assert.equal(answer.usage?.completion_tokens, 12);
  });

  test("accepts a prompt that nearly fills the model's context", async () => {
    const answer = await ask("tiny-3b", "many words ".repeat(3_900), { max_tokens: 12 });
    assert.ok((answer.usage?.prompt_tokens ?? 0) > 7_000, `${answer.usage?.prompt_tokens} tokens`);
    assert.notEqual(answer.choices[0]?.message.content, "");
  });

  test("completes a plain prompt, and embeds text", async () => {
    const text = await client.completions.create({
      model: "tiny-3b",
      prompt: "Once upon a time",
      max_tokens: 30,
      temperature: 0,
    });
    assert.ok((text.choices[0]?.text.length ?? 0) > 20);
    const list = await client.embeddings.create({
      model: "embed-m3",
      input: ["a cat", "a dog"],
      encoding_format: "float",
    });
    assert.deepEqual(
      list.data.map(({ embedding }) => embedding.length),
      [1024, 1024],
    );
    await assertBalanced(platform);
  });
});
