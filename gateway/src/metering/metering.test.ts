import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { createLog } from "../base/log.ts";
import { openTokenMetering } from "./metering.ts";
import { packPrompt, unpackPrompt } from "./prompt-for-worker.ts";
import type { Prompt, TokenMeter } from "./token-meter.ts";
import { TOKENIZERS } from "./tokenizers.ts";

const log = createLog("silent");
const LIMIT = 1_000_000;

describe("token metering", async () => {
  const metering = await openTokenMetering({ log });
  after(() => metering.close());
  const meterOf = (name: string): TokenMeter => {
    const meter = metering.meter(name);
    assert.ok(meter);
    return meter;
  };

  it("has a meter for every tokenizer, named with the hash of the tokenizer's data", async () => {
    assert.deepEqual(metering.names, ["llama3", "qwen2.5", "xlm-roberta"]);
    for (const [name, { sha256 }] of Object.entries(TOKENIZERS)) {
      assert.equal(meterOf(name).tokenizer, name);
      assert.equal(meterOf(name).tokenizerSha256, sha256);
    }
    assert.equal(metering.meter("gpt-2"), undefined);
  });

  it("counts the tokens that engines add: none for Qwen, a start token for Llama, a start and an end token for embeddings", async () => {
    const tokens = async (name: string, prompt: Prompt): Promise<number> =>
      (await meterOf(name).countPrompt(prompt, LIMIT)).tokens;
    assert.equal(await tokens("llama3", { kind: "text", text: "Hello world" }), 3);
    assert.equal(await tokens("qwen2.5", { kind: "text", text: "Hello world" }), 2);
    assert.equal(await tokens("xlm-roberta", { kind: "texts", texts: ["Hello world", "Hello"] }), 4 + 3);
  });

  it("returns the same count from a worker thread as from the event loop", async () => {
    const story = "Once upon a time, «çà et là», 42 little tokens went out.\n".repeat(100);
    const filler = " padding".repeat(4000);
    for (const name of ["llama3", "qwen2.5"]) {
      const meter = meterOf(name);
      const chat = async (...contents: string[]): Promise<number> => {
        const messages = contents.map((content, i) => ({ role: i % 2 === 0 ? "user" : "function", content }));
        return (await meter.countPrompt({ kind: "chat", messages }, LIMIT)).tokens;
      };
      // The long prompt has more words, of one token each.
      assert.equal(await chat(story, `x${filler}`), (await chat(story, "x")) + 4000);
    }
  });

  it("names the embedding input that exceeds the token limit, and accepts an input at the limit", async () => {
    for (const name of metering.names) {
      const meter = meterOf(name);
      for (const size of [1, 20_000]) {
        const texts = ["a", "b", "word ".repeat(size * 2), "c", "word ".repeat(size * 3)];
        const { tokens } = await meter.countPrompt({ kind: "texts", texts: [texts[2] as string] }, LIMIT);
        assert.deepEqual((await meter.countPrompt({ kind: "texts", texts: texts.slice(0, 4) }, tokens)).over, null);
        assert.deepEqual((await meter.countPrompt({ kind: "texts", texts }, tokens)).over?.index, 4);
        assert.deepEqual((await meter.countPrompt({ kind: "texts", texts }, tokens - 1)).over?.index, 2);
      }
    }
  });

  it("refuses a prompt with more tokens than the given limit", async () => {
    const meter = meterOf("llama3");
    const text: Prompt = { kind: "text", text: "Hello world" };
    assert.deepEqual(await meter.countPrompt(text, 3), { tokens: 3, over: null });
    assert.deepEqual((await meter.countPrompt(text, 2)).over, { index: 0, tokens: 3, isExact: true });
    const chat: Prompt = { kind: "chat", messages: [{ role: "user", content: "Hello" }] };
    const { tokens } = await meter.countPrompt(chat, LIMIT);
    assert.deepEqual(await meter.countPrompt(chat, tokens), { tokens, over: null });
    assert.deepEqual((await meter.countPrompt(chat, tokens - 1)).over, { index: 0, tokens, isExact: true });
    const crowd: Prompt = {
      kind: "chat",
      messages: Array.from({ length: 300_000 }, () => ({ role: "user", content: "" })),
    };
    const { over } = await meter.countPrompt(crowd, 8192);
    assert.ok(over !== null && !over.isExact && over.tokens > 8192);
  });

  it("returns the exact token count up to twice the given limit, and a lower bound above that", async () => {
    for (const name of metering.names) {
      const meter = meterOf(name);
      for (const size of [40, 4_000]) {
        const texts = ["short", "long ".repeat(size)];
        const { tokens } = await meter.countPrompt({ kind: "text", text: texts[1] as string }, LIMIT);
        const overOf = async (limit: number) => (await meter.countPrompt({ kind: "texts", texts }, limit)).over;
        assert.deepEqual(await overOf(tokens - 1), { index: 1, tokens, isExact: true });
        assert.deepEqual(await overOf(Math.ceil(tokens / 2)), { index: 1, tokens, isExact: true });
        const far = await overOf(Math.ceil(tokens / 4));
        assert.ok(far !== null && !far.isExact);
        assert.ok(far.tokens > 2 * Math.ceil(tokens / 4) && far.tokens <= tokens);
      }
    }
  });

  it("counts no output tokens for an embedding model", async () => {
    const output = meterOf("xlm-roberta").openOutput(0);
    assert.equal(output.push("answer", "text"), "");
    assert.deepEqual(output.end(), { answerTokens: 0, reasoningTokens: 0 });
  });

  it("lets the process exit while its worker threads are idle", () => {
    const script = `
      import { openTokenMetering } from ${JSON.stringify(new URL("./metering.ts", import.meta.url).href)};
      import { createLog } from ${JSON.stringify(new URL("../base/log.ts", import.meta.url).href)};
      const metering = await openTokenMetering({ log: createLog("silent") });
      const { tokens } = await metering.meter("qwen2.5").countPrompt({ kind: "text", text: "a ".repeat(20000) }, 1e9);
      console.log(tokens);
    `;
    const cwd = fileURLToPath(new URL(".", import.meta.url));
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", script], { cwd, encoding: "utf8" });
    assert.equal(run.stdout.trim(), "20001", run.stderr);
    assert.equal(run.status, 0);
  });
});

describe("a packed prompt", () => {
  it("unpacks to the original prompt, with each message's role replaced by the role name in the chat template", () => {
    const text = fc.string({ unit: "binary", maxLength: 20 });
    const role = fc.constantFrom("system", "user", "assistant", "tool");
    const message = fc.record({ role, content: text }, { noNullPrototype: true });
    const prompt: fc.Arbitrary<Prompt> = fc.oneof(
      text.map((whole) => ({ kind: "text" as const, text: whole })),
      fc.array(text).map((texts) => ({ kind: "texts" as const, texts })),
      fc.array(message).map((messages) => ({ kind: "chat" as const, messages })),
    );
    fc.assert(
      fc.property(prompt, (before) => {
        assert.deepEqual(unpackPrompt(packPrompt(before)), before);
      }),
      { numRuns: 40, verbose: 1 },
    );
  });
});
