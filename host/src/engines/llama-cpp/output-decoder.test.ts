import assert from "node:assert/strict";
import { test } from "node:test";
import { OutputDecoder } from "./output-decoder.ts";

/** Tokens are strings; those like `0xf0` are single bytes, as the model's vocabulary has them. */
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

test("a character that comes in bytes is said when it is whole", () => {
  assert.deepEqual(decoded(["a", "0xf0", "0x9f", "0x98", "0x80", "b"]).said, ["a", "😀", "b"]);
});

test("bytes that never become a character do not hold up the rest", () => {
  assert.equal(decoded(["0xff", "a", "b"]).said.join(""), "\ufffdab");
  assert.equal(decoded(["a", "0xf0"]).said.join(""), "a\ufffd");
});

test("thinking is said apart, without its marks", () => {
  assert.deepEqual(decoded(["<think>", "hm", "</think>", "yes"]).said, ["(hm)", "yes"]);
});

test("a prompt that ended with the opening mark: the thinking has begun", () => {
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

test("in a model that does not think the marks are text", () => {
  assert.deepEqual(decoded(["<think>", "hm"], [], false).said, ["<think>", "hm"]);
});

test("a stop string ends the answer but not the thinking", () => {
  assert.deepEqual(decoded(["<think>", "E", "ND", "</think>", "a", "E", "ND", "b"], ["END"]), {
    said: ["(E)", "(ND)", "a"],
    stopped: true,
  });
});

test("what only looked like a stop string is said at the end", () => {
  assert.deepEqual(decoded(["a", "E"], ["END"]), { said: ["a", "E"], stopped: false });
});
