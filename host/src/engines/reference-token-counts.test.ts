/**
 * The agent cannot import the gateway, so it contains the expected token counts of a few texts and a chat. These tests
 * compare them with the gateway's counts.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { BpeCounter } from "../../../gateway/src/metering/bpe/counter.ts";
import type { BpeTables } from "../../../gateway/src/metering/bpe/tables.ts";
import { openPromptCounter } from "../../../gateway/src/metering/prompt-counter.ts";
import { loadTables, TOKENIZER_NAMES, TOKENIZERS } from "../../../gateway/src/metering/tokenizers.ts";
import { ACTIVE_MODELS, EMBEDDING_MODELS } from "./model-names.ts";
import { CHAT_FAMILIES, findChatFamily, TEMPLATE_TEST_CHAT, TEMPLATE_TEST_TEXT_TOKENS } from "./template-check.ts";
import { TOKENIZER_BY_MODEL, TOKENIZER_REFERENCES } from "./tokenizer-check.ts";

interface Catalogue {
  models: { id: string; status: string; build: { tokenizer: (typeof TOKENIZER_NAMES)[number] } }[];
}
const catalogue: Catalogue = JSON.parse(
  readFileSync(new URL("../../../gateway/catalogue/models.json", import.meta.url), "utf8"),
);
const LIMIT = 1e6;

test("the agent's reference counts equal the gateway's token counts for the texts that distinguish tokenizers", async () => {
  for (const name of TOKENIZER_NAMES) {
    const prompts = openPromptCounter(TOKENIZERS[name], await loadTables(name));
    for (const reference of TOKENIZER_REFERENCES) {
      const { tokens } = prompts.count({ kind: "text", text: reference.text }, LIMIT);
      assert.equal(tokens - TOKENIZERS[name].textTokensAdded, reference[name], `${name}: ${reference.text}`);
    }
  }
});

test("the agent's reference counts equal the gateway's token counts for the test chat of every active chat model", async () => {
  const active = catalogue.models.filter(({ status }) => status === "active");
  assert.deepEqual(active.map(({ id }) => id).toSorted(), ACTIVE_MODELS.toSorted());
  for (const { id, build } of active) {
    assert.equal(TOKENIZER_BY_MODEL[id], build.tokenizer, id);
    assert.equal(findChatFamily(id) === undefined, EMBEDDING_MODELS.includes(id), id);
    if (EMBEDDING_MODELS.includes(id)) continue;
    const prompts = openPromptCounter(TOKENIZERS[build.tokenizer], await loadTables(build.tokenizer));
    const { tokens } = prompts.count({ kind: "chat", messages: TEMPLATE_TEST_CHAT }, LIMIT);
    assert.equal(findChatFamily(id)?.renderings[0].tokens, tokens, id);
  }
});

/** Stands for a special token that the catalogue's tokenizer lacks: `<think>` and DeepSeek's marks. */
const MARK = "\u0000";

test("the agent's reference counts for harmless variants of chat templates equal those of the published templates", async () => {
  const [system = "", question = "", answer = "", next = ""] = TEMPLATE_TEST_CHAT.map(({ content }) => content);
  const llama = (start: string): string => {
    const turn = (role: string, text: string): string => `<|start_header_id|>${role}<|end_header_id|>\n\n${text}`;
    const said = [`${turn("system", start + system)}`, turn("user", question), turn("assistant", answer)];
    return `<|begin_of_text|>${[...said, turn("user", next), turn("assistant", "")].join("<|eot_id|>")}`;
  };
  const qwen = (end: string): string => {
    const turn = (role: string, text: string): string => `<|im_start|>${role}\n${text}<|im_end|>\n`;
    const said = [turn("system", system), turn("user", question), turn("assistant", answer), turn("user", next)];
    return `${said.join("")}<|im_start|>assistant\n${end}`;
  };
  const deepSeek = (end: string): string =>
    `${MARK}${system}${MARK}${question}${MARK}${answer}${MARK}${MARK}${next}${MARK}${end}`;
  const knowledge = "Cutting Knowledge Date: December 2023\n";
  const written = {
    llama3: [llama(`${knowledge}Today Date: 26 Jul 2024\n\n`), llama(`${knowledge}\n`), llama("")],
    "qwen2.5": [qwen("")],
    thinking: [qwen(""), qwen(`${MARK}\n`), deepSeek(""), deepSeek(`${MARK}\n`)],
  };
  for (const [family, texts] of Object.entries(written) as [keyof typeof written, string[]][]) {
    const counter = new BpeCounter((await loadTables(family === "llama3" ? "llama3" : "qwen2.5")) as BpeTables);
    const count = (text: string): number => {
      const pieces = text.split(MARK);
      return pieces.reduce((sum, piece) => sum + counter.count(piece), pieces.length - 1);
    };
    const said = CHAT_FAMILIES[family].renderings.map(({ tokens }) => tokens);
    assert.deepEqual(said, texts.map(count), family);
    assert.equal(count([system, question, answer, next].join(MARK)) - 3, TEMPLATE_TEST_TEXT_TOKENS);
  }
});
