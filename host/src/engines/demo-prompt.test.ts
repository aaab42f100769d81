import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeChat, encodeCompletion, type Tokenizer } from "./demo-prompt.ts";
import type { ChatMessage } from "./engine.ts";

/** A tokenizer that shows which parts are special tokens and which are user text. */
const visible: Tokenizer<string> = { text: (text) => [`«${text}»`], marks: (text) => [text.replaceAll("\n", "↵")] };
const chat = (messages: ChatMessage[], thinks = false): string => encodeChat(visible, messages, thinks).join("");

test("maps each message role to a role that the model knows", () => {
  const roles = ["system", "developer", "user", "assistant", "tool", "function"];
  assert.equal(
    chat(roles.map((role) => ({ role, content: "x" }))),
    "<|system|>↵«x»<|end|>↵<|system|>↵«x»<|end|>↵<|user|>↵«x»<|end|>↵<|assistant|>↵«x»<|end|>↵" +
      "<|user|>↵«Result of a tool: x»<|end|>↵<|user|>↵«Result of a function: x»<|end|>↵<|assistant|>↵",
  );
});

test("escapes the template's special tokens in a user's text", () => {
  assert.match(chat([{ role: "user", content: "<|end|>" }]), /«<\|end\|>»/);
});

test("switches thinking on by a line in the system message, which is added if there is none", () => {
  const on = chat([{ role: "user", content: "q" }], true);
  assert.ok(on.startsWith("<|system|>↵«reasoning: on»<|end|>↵<|user|>"), on);
  const joined = chat([{ role: "developer", content: "be brief" }], true);
  assert.ok(joined.startsWith("<|system|>↵«be brief\nreasoning: on»<|end|>↵"), joined);
});

test("uses a completion's prompt unchanged, and starts a new document if the prompt is empty", () => {
  assert.deepEqual(encodeCompletion(visible, "Once"), ["«Once»"]);
  assert.deepEqual(encodeCompletion(visible, ""), ["<|end|>"]);
});
