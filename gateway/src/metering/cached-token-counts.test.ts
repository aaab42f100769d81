import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { createLog } from "../base/log.ts";
import { BpeCounter } from "./bpe/counter.ts";
import type { BpeTables } from "./bpe/tables.ts";
import { CachedCounts, findBlockEnd } from "./cached-token-counts.ts";
import { readRandomTextCounts, readReferenceTextCounts } from "./fixtures/reference-counts.ts";
import { openTokenMetering } from "./metering.ts";
import { openPromptCounter } from "./prompt-counter.ts";
import type { ChatMessage, Prompt } from "./token-meter.ts";
import { loadTables, TOKENIZERS } from "./tokenizers.ts";

const NO_LIMIT = 10_000_000;

/**
 * Generates characters near line breaks: white space of all kinds, combining marks, special tokens, lone surrogates.
 */
const near = fc
  .array(
    fc.oneof(
      fc.constantFrom("\n", "\r", "\r\n", " ", "\t", "\u00a0", "\u2028", "\u3000", "\u0085", "\u200b"),
      fc.constantFrom("a", "Z", "7", "123", "'s", "'ll", "!", ")", "{", "<", "<|eot_id|>", "<|im_end|>", "é", "的"),
      fc.constantFrom("e\u0301", "\u0301", "\u0316", "\u0338", "ᄀ", "ᅡ", "ᆨ", "\ud83d", "\ude00", "😀"),
      fc.string({ unit: "binary", maxLength: 3 }),
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(""));

/**
 * Generates texts that the cache divides into several blocks (at line breaks, each of at least 4096 characters), with
 * characters from `near` close to the borders.
 */
const longText = fc
  .array(
    fc.record({ near, filler: fc.constantFrom("word ", "x", "\n", " \n", "- item\n", "  if (a) {\n", "的\n", "!?") }),
    {
      minLength: 2,
      maxLength: 6,
    },
  )
  .map((parts) =>
    parts.map(({ near, filler }) => near + filler.repeat(Math.ceil(4090 / filler.length)) + near).join("\n"),
  );

for (const name of ["llama3", "qwen2.5"] as const) {
  describe(`cached token counts, ${name}`, async () => {
    const tables = (await loadTables(name)) as BpeTables;
    const counter = new BpeCounter(tables);

    it("equal the reference count of each text, and the full count of all texts joined", () => {
      for (const { text, [name]: count } of [...readReferenceTextCounts(), ...readRandomTextCounts()])
        for (let time = 0; time < 2; time++) assert.equal(counter.count(text, NO_LIMIT, "a"), count);
      const all = readReferenceTextCounts().map(({ text }) => text);
      for (const between of ["", "\n", "\nand ", " \n\n  "]) {
        const text = all.join(between);
        const due = counter.count(text);
        for (let time = 0; time < 2; time++) assert.equal(counter.count(text, NO_LIMIT, "a"), due);
      }
    });

    it("equal the full count of the same text, whichever line breaks end its blocks", () => {
      fc.assert(
        fc.property(longText, (text) => {
          const due = counter.count(text);
          assert.equal(counter.count(text, NO_LIMIT, "a"), due);
          assert.equal(counter.count(text, NO_LIMIT, "a"), due);
        }),
        { numRuns: 150, verbose: 1 },
      );
    });

    it("are reused for the first blocks of a text that grows", () => {
      const known = new BpeCounter(tables);
      const line = (n: number): string => `Of the ${n} things that were said before, none is counted twice.\n`;
      const text = Array.from({ length: 400 }, (_, n) => line(n)).join("");
      known.count(text, NO_LIMIT, "a");
      const blocks = known.known.size;
      assert.ok(blocks > 3);
      const grown = text + line(400);
      assert.equal(known.count(grown, NO_LIMIT, "a"), counter.count(grown));
      assert.equal(known.known.size, blocks + 1, "its last block alone is new");
    });

    it("stop soon after the given token limit, and leave an incomplete count out of the cache", () => {
      const text = "word word word\n".repeat(2000);
      const exact = counter.count(text);
      const limited = new BpeCounter(tables);
      for (const limit of [0, 1, 700, 5000, exact - 1]) {
        const bound = limited.count(text, limit, "a");
        assert.ok(bound > limit && bound <= exact);
      }
      assert.equal(limited.count(text, exact, "a"), exact);
      assert.equal(limited.count(text, NO_LIMIT, "a"), exact);
    });

    it("equal the count without the cache after each message of a growing conversation", () => {
      const roles = ["system", "user", "assistant", "tool", "tool", "assistant", "user"];
      const texts = readReferenceTextCounts().map(({ text }) => text);
      const known = openPromptCounter(TOKENIZERS[name], tables);
      const messages: ChatMessage[] = [];
      for (let turn = 0; turn < 60; turn++) {
        const content = texts.slice(turn * 30, turn * 30 + (turn % 5) * 7 + 1).join(turn % 2 === 0 ? "\n" : " ");
        messages.push({ role: roles[turn % roles.length] as string, content });
        const prompt: Prompt = { kind: "chat", messages };
        const due = known.count(prompt, NO_LIMIT);
        assert.deepEqual(known.count(prompt, NO_LIMIT, "a"), due);
        assert.deepEqual(known.count(prompt, NO_LIMIT, "a"), due);
      }
    });
  });
}

describe("the cache of token counts", () => {
  it("has a limited size, and keeps recently used counts", () => {
    const known = new CachedCounts(100);
    for (let i = 0; i < 10_000; i++) {
      known.set(`of ${i}`, i);
      known.get("of 0");
      assert.ok(known.size <= 201);
    }
    assert.equal(known.get("of 0"), 0);
    assert.equal(known.get("of 9999"), 9999);
    assert.equal(known.get("of 1"), undefined);
  });

  it("is separate for each payer, and contains no text", () => {
    const known = new CachedCounts();
    const text = "a secret ".repeat(100);
    assert.notEqual(known.keyOf("a", text), known.keyOf("b", text));
    assert.equal(known.keyOf("a", text), known.keyOf("a", text));
    assert.ok(!known.keyOf("a", text).includes("secret") && known.keyOf("a", text).length < 64);
  });

  it("stores nothing for a prompt that no account pays for", async () => {
    const counter = new BpeCounter((await loadTables("llama3")) as BpeTables);
    counter.count("word ".repeat(4000));
    assert.equal(counter.known.size, 0);
  });

  it("splits any text into blocks in a single pass", () => {
    for (const text of ["\n".repeat(1e6), "\n ".repeat(5e5), `\n${" ".repeat(1e6)}`, `${"a\u0301\n".repeat(3e5)}`]) {
      let [blocks, from] = [0, 0];
      for (; from < text.length; from = findBlockEnd(text, from)) blocks++;
      assert.equal(from, text.length);
      assert.ok(blocks >= 1 && blocks <= text.length / 4096 + 1);
    }
  });
});

describe("cached counts in worker threads", async () => {
  const metering = await openTokenMetering({ log: createLog("silent"), workersMax: 1 });
  after(() => metering.close());

  it("equal counts without the cache", async () => {
    const text = readReferenceTextCounts()
      .map((reference) => reference.text)
      .join("\n");
    for (const name of ["llama3", "qwen2.5"]) {
      const meter = metering.meter(name);
      assert.ok(meter);
      for (const prompt of [
        { kind: "text", text },
        { kind: "chat", messages: [{ role: "user", content: text }] },
      ] as Prompt[]) {
        const due = await meter.countPrompt(prompt, NO_LIMIT);
        assert.deepEqual(await meter.countPrompt(prompt, NO_LIMIT, "a"), due);
        assert.deepEqual(await meter.countPrompt(prompt, NO_LIMIT, "a"), due);
      }
    }
  });
});
