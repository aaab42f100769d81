/** Checks that titles of tests and comments contain no retired words (words that the glossary replaces). */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readCodeTexts } from "./code-texts.ts";
import { findReplacements } from "./retired-words.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CLEANED = "{api,bench,chaos,demo-provider,e2e,engines,gateway,host,protocol,stage,terminal,tools}/**/*.ts";
/** Folders that still contain retired words, and files that name them. */
const LEFT_OUT =
  /\/(node_modules|dist)\/|\.d\.ts$|^(gateway\/src\/routes\/console|e2e\/console|chaos\/failover)\/|^tools\/(words\/|(console|message)-words)/;

/** The folders whose titles and comments are also checked for forms that are hard to read. */
const PLAIN = /^(api|gateway|host|protocol|sim)\//;

function findingsIn(file: string, source: string): string[] {
  const { titles, comments } = readCodeTexts(file, source);
  const wordsIn = (place: "titles" | "comments", text: string): string[] => [
    ...findReplacements(place, text),
    ...(PLAIN.test(file) ? findReplacements(`plain ${place}`, text) : []),
  ];
  const found = [
    ...titles.map(({ line, text }) => ({ line, text, words: wordsIn("titles", text) })),
    ...comments.map(({ line, text }) => ({ line, text, words: wordsIn("comments", text) })),
  ];
  return found.flatMap(({ line, text, words }) =>
    words.map((instead) => `${file}:${line}: say "${instead}" in: ${text}`),
  );
}

test("no test title and no comment contains a word that the glossary replaces", () => {
  const files = globSync(CLEANED, { cwd: ROOT, exclude: ["**/node_modules"] }).filter((file) => !LEFT_OUT.test(file));
  assert.ok(files.length > 1_000, `${files.length} files`);
  assert.deepEqual(
    files.sort().flatMap((file) => findingsIn(file, readFileSync(join(ROOT, file), "utf8"))),
    [],
  );
});

test("finds retired words in titles and comments, with their line numbers, and not in names and messages", () => {
  const source = `// Nobody knows.
const underWay = "the store";
test("what is under way", run);
`;
  assert.deepEqual(findingsIn("a.test.ts", source), [
    'a.test.ts:3: say "in flight" in: what is under way',
    'a.test.ts:3: say "a subject: what is tested" in: what is under way',
    'a.test.ts:1: say "someone, anyone, everyone, no one" in: Nobody knows.',
  ]);
});

test('reports a comment without a grammatical subject, such as "Of the spool.", only in folders with strict rules', () => {
  const source = "/** Of the spool. */\nconst directory = 1;\n";
  assert.deepEqual(findingsIn("stage/a.ts", source), []);
  assert.deepEqual(findingsIn("gateway/src/a.ts", source), [
    'gateway/src/a.ts:1: say "a subject, or the noun that the pronoun stands for" in: Of the spool.',
  ]);
});
