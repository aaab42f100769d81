import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { makeEmbeddingSnippets, makeSnippets } from "./request-snippets.ts";

const body = {
  model: "tiny-3b",
  messages: [{ role: "user", content: `It's "quoted" \\ and\nbroken` }],
  stop: ["\n"],
  stream: true,
};
const [curl, python, typescript] = makeSnippets({ baseUrl: "http://gateway/v1", apiKey: "tsk_live_x", body }).map(
  ({ text }) => text,
) as [string, string, string];

test("produces one shell command with the exact body for curl", () => {
  // The shell splits the command into words, and `printf`, which replaces `curl` here, returns them.
  const words = execFileSync("sh", ["-c", curl.replace("curl", "printf '%s\\0'")], { encoding: "utf8" }).split("\0");
  assert.equal(words[0], "-N");
  assert.equal(words[1], "http://gateway/v1/chat/completions");
  assert.ok(words.includes("Authorization: Bearer tsk_live_x"));
  assert.deepEqual(JSON.parse(words[words.indexOf("-d") + 1] ?? ""), body);
});

test("uses Python constants for Python, and unquoted property names for TypeScript", () => {
  assert.match(python, /stream=True,/);
  assert.match(python, /for chunk in client/);
  assert.match(typescript, /^ {2}model: "tiny-3b",$/m);
  assert.match(typescript, /for await/);
});

test("produces snippets for embeddings in curl, Python and TypeScript", () => {
  const asked = { model: "embed-m3", input: ["It's a cat", "a dog"] };
  const made = makeEmbeddingSnippets({ baseUrl: "http://gateway/v1", apiKey: "tsk_live_x", body: asked });
  const [line, inPython, inTypescript] = made.map(({ text }) => text) as [string, string, string];
  const words = execFileSync("sh", ["-c", line.replace("curl", "printf '%s\\0'")], { encoding: "utf8" }).split("\0");
  assert.equal(words[0], "http://gateway/v1/embeddings");
  assert.deepEqual(JSON.parse(words[words.indexOf("-d") + 1] ?? ""), asked);
  assert.match(inPython, /client\.embeddings\.create\(model="embed-m3", input=\["It's a cat", "a dog"\]\)/);
  assert.match(inTypescript, /encoding_format: "float"/);
});
