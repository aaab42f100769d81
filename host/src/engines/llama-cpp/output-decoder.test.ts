import assert from "node:assert/strict";
import { test } from "node:test";
import { OutputDecoder } from "./output-decoder.ts";

/** Tokens are strings. Tokens like `0xf0` are single bytes, as in the model's vocabulary. */
function detokenize(tokens: string[]): string {
  const bytes = tokens.map((token) => (token.startsWith("0x") ? Buffer.from([Number(token)]) : Buffer.from(token)));
  return Buffer.concat(bytes).toString("utf8");
}

function decoded(tokens: string[], stop: string[] = [], thinks = true): { said: string[]; stopped: boolean } {
  const said: string[] = [];
  const decoder = new OutputDecoder<string>({
    detokenize,
    thinking: thinks ? { open: "<think>", close: "</think>" } : undefined,
    stop,
    emit: (channel, text) => said.push(channel === "answer" ? text : `(${text})`),
  });
  for (const token of tokens) if (decoder.push(token)) return { said, stopped: true };
  decoder.end();
  return { said, stopped: false };
}

test("returns a character once all of its byte tokens have arrived", () => {
  assert.deepEqual(decoded(["a", "0xf0", "0x9f", "0x98", "0x80", "b"]).said, ["a", "😀", "b"]);
});

test("continues to decode after bytes that do not form a character", () => {
  assert.equal(decoded(["0xff", "a", "b"]).said.join(""), "\ufffdab");
  assert.equal(decoded(["a", "0xf0"]).said.join(""), "a\ufffd");
});

test("separates thinking from the answer, and removes the markers of thinking", () => {
  assert.deepEqual(decoded(["<think>", "hm", "</think>", "yes"]).said, ["(hm)", "yes"]);
});

test("begins with thinking if the prompt ended with the opening marker", () => {
  const said: string[] = [];
  const decoder = new OutputDecoder<string>({
    detokenize,
    thinking: { open: "<think>", close: "</think>" },
    startsThinking: true,
    stop: undefined,
    emit: (channel, text) => said.push(channel === "answer" ? text : `(${text})`),
  });
  for (const token of ["hm", "</think>", "yes"]) decoder.push(token);
  decoder.end();
  assert.deepEqual(said, ["(hm)", "yes"]);
});

test("returns markers as text for a model that does not think", () => {
  assert.deepEqual(decoded(["<think>", "hm"], [], false).said, ["<think>", "hm"]);
});

test("applies stop strings to the answer but not to the thinking", () => {
  assert.deepEqual(decoded(["<think>", "E", "ND", "</think>", "a", "E", "ND", "b"], ["END"]), {
    said: ["(E)", "(ND)", "a"],
    stopped: true,
  });
});

test("returns held-back text at the end if it was not a stop string", () => {
  assert.deepEqual(decoded(["a", "E"], ["END"]), { said: ["a", "E"], stopped: false });
});
