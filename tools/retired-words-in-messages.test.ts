/** Checks that the product's messages contain no retired words (words that the glossary replaces). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { findRetiredWords, findRetiredWordsIn, findUnusedExemptions } from "./retired-words-in-messages.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const insteadOf = (source: string, file = "a.ts"): string[] =>
  findRetiredWordsIn(file, source).map(({ instead }) => instead);

test("no message contains a word that the glossary replaces", () => {
  const found = findRetiredWords(root).map(
    ({ file, line, text, instead }) => `${file}:${line}: say "${instead}" in: ${text}`,
  );
  assert.deepEqual(found, []);
});

test("every exception to the check for retired words is still needed", () => {
  assert.deepEqual(findUnusedExemptions(root), []);
});

test("finds retired words in strings, templates, SQL and YAML, with their line numbers", () => {
  assert.deepEqual(findRetiredWordsIn("a.ts", 'first();\nlog.warn({ id }, "the books do not balance");'), [
    { file: "a.ts", line: 2, text: "the books do not balance", instead: "the ledger" },
  ]);
  assert.deepEqual(insteadOf("throw new Error(`this database is away`);"), ["is unreachable"]);
  assert.deepEqual(insteadOf("text: 'Confirm your e-mail address.'"), ["email"]);
  assert.deepEqual(insteadOf("raise exception 'a hold makes no sense';", "a.sql"), ["the rule that is broken"]);
  assert.deepEqual(insteadOf('summary: "Requests are under way."', "a.yml"), ["in flight"]);
});

test("ignores retired words in comments, names and queries, and in phrases where they have another meaning", () => {
  assert.deepEqual(insteadOf("// the books are away\n/* an e-mail */ const letters = open();"), []);
  assert.deepEqual(insteadOf('query("delete from letter where id = $1")'), []);
  assert.deepEqual(insteadOf('"must be lowercase letters"; "is no longer a setting"'), []);
});
