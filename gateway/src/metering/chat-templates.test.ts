import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Template } from "@huggingface/jinja";
import fc from "fast-check";
import { BpeCounter } from "./bpe/counter.ts";
import type { BpeTables } from "./bpe/tables.ts";
import { llama3SystemStart, renderRole } from "./chat-templates.ts";
import { chatTemplates, readReferenceTextCounts } from "./fixtures/reference-counts.ts";
import { openPromptCounter } from "./prompt-counter.ts";
import type { ChatMessage } from "./token-meter.ts";
import { loadTables, TOKENIZERS } from "./tokenizers.ts";

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"];
const texts = readReferenceTextCounts()
  .map(({ text }) => text)
  .filter((text) => text.length < 1500);

const conversation: fc.Arbitrary<ChatMessage[]> = fc.array(
  fc.record({
    role: fc.constantFrom(...ROLES),
    content: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...texts) },
      {
        weight: 1,
        arbitrary: fc.constantFrom("", " ", "\n\n", " padded \n", "<|im_end|>", "<|eot_id|>x", "\ud800", '"\\"'),
      },
      { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
    ),
  }),
  { minLength: 1, maxLength: 8 },
);

for (const name of ["llama3", "qwen2.5"] as const) {
  describe(`chat template, ${name}`, async () => {
    const fixture = chatTemplates()[name];
    const template = new Template(fixture.chat_template);
    const tables = (await loadTables(name)) as BpeTables;
    const counter = new BpeCounter(tables);
    const prompts = openPromptCounter(TOKENIZERS[name], tables);
    const render = (messages: ChatMessage[]): string =>
      template.render({
        messages: messages.map(({ role, content }) => ({ role: renderRole(role), content: content.toWellFormed() })),
        add_generation_prompt: true,
        bos_token: fixture.bos_token,
        eos_token: fixture.eos_token,
      });

    it("counts the same number of tokens for a chat as there are in the text that the model's original template makes of it", () => {
      fc.assert(
        fc.property(conversation, (messages) => {
          const rendered = counter.count(render(messages));
          const counted = prompts.count({ kind: "chat", messages }, Number.MAX_SAFE_INTEGER);
          assert.deepEqual(counted, { tokens: rendered, over: null });
        }),
        { numRuns: 1500, verbose: 1 },
      );
    });

    it("counts at least the minimum number of tokens for every message", () => {
      for (const role of ROLES) {
        const one = { role, content: "" };
        const extra = prompts.count({ kind: "chat", messages: [one, one, one] }, 1e9).tokens;
        const base = prompts.count({ kind: "chat", messages: [one, one] }, 1e9).tokens;
        assert.ok(extra - base >= TOKENIZERS[name].chat.messageTokensMin, role);
      }
    });
  });
}

describe("the dates in Llama's system message", async () => {
  const counter = new BpeCounter((await loadTables("llama3")) as BpeTables);

  it("have the same number of tokens on every day", () => {
    const counts = new Set<number>();
    for (let day = Date.UTC(2024, 0, 1); day < Date.UTC(2032, 0, 1); day += 86_400_000) {
      const [, dd, month, year] = new Date(day).toUTCString().split(" ");
      counts.add(counter.count(llama3SystemStart(`${dd} ${month} ${year}`)));
    }
    assert.equal(counts.size, 1);
  });
});

describe("the roles of messages", () => {
  it("are replaced by the role names that the chat templates use", () => {
    assert.deepEqual(ROLES.map(renderRole), ["system", "system", "user", "assistant", "tool", "tool"]);
    assert.throws(() => renderRole("ipython"));
  });
});
