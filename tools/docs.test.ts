/** Checks the rules for guides: only code fences that the doc tests can run, and limits on the number of words. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { guidePages, QUICK_STARTS } from "./doc-tests/pages.ts";
import { readPage } from "./doc-tests/read-page.ts";

const WORDS_MAX = { readme: 700, docs: 39_750, scale: 3_700 };
/** This page has a word limit of its own: it is mostly tables, which are looked up and not read. */
const SCALE = "docs/scale.md";

const root = fileURLToPath(new URL("..", import.meta.url));
const PAGES = guidePages(root);
const textOf = (file: string): string => readFileSync(join(root, file), "utf8");
/** Matches names of tests in docs/threats.md, which do not count as words: they are looked up and not read. */
const TESTS = /`[^`|]+\.ts` › [^|<]*/g;
const wordsIn = (files: string[]): number =>
  files.reduce((sum, file) => sum + (textOf(file).replaceAll(TESTS, "").match(/\S+/g)?.length ?? 0), 0);

test("every code fence of every guide has a known language and attributes, and contains no shell prompt and no jq", () => {
  const mistakes = PAGES.flatMap((file) => readPage(textOf(file)).mistakes.map((mistake) => `${file}, ${mistake}`));
  assert.deepEqual(mistakes, []);
});

test("the README and the guides stay within their word limits", () => {
  const [readme, docs] = [
    wordsIn(["README.md"]),
    wordsIn(PAGES.filter((file) => file !== "README.md" && file !== SCALE)),
  ];
  const scale = wordsIn([SCALE]);
  assert.ok(docs > 1_000, "they were found");
  assert.ok(readme <= WORDS_MAX.readme, `README.md has ${readme} words; its limit is ${WORDS_MAX.readme}`);
  assert.ok(scale <= WORDS_MAX.scale, `${SCALE} has ${scale} words; its limit is ${WORDS_MAX.scale}`);
  assert.ok(docs <= WORDS_MAX.docs, `the pages of docs/ have ${docs} words; their limit is ${WORDS_MAX.docs}`);
});

test("every page that the doc tests refer to exists", () => {
  assert.deepEqual(
    QUICK_STARTS.filter((file) => !PAGES.includes(file)),
    [],
  );
});

test("the console's README names only components, files and functions of src/ui that exist", () => {
  const table = textOf("console/README.md").match(/## Components \(`src\/ui`\)(.*?)\n## /s)?.[1] ?? "";
  const rows = table.split("\n").filter((line) => line.startsWith("| `"));
  const code = globSync("console/src/ui/**/*.{ts,tsx}", { cwd: root }).map(textOf).join("\n");
  const exported = new Set([...code.matchAll(/^export (?:function|const|class) (\w+)/gm)].map(([, name]) => name));
  const wrong = rows.flatMap((line) => {
    const [files = "", parts = ""] = line.split(" | ");
    const named = [...files.matchAll(/`([\w/-]+)`/g)].map(([, name]) => `console/src/ui/${name}`);
    const names = [...parts.matchAll(/`<?([A-Z]\w*|[a-z]+[A-Z]\w*|toast)\b/g)].map(([, name]) => String(name));
    return [
      ...named.filter((file) => !["ts", "tsx"].some((end) => existsSync(join(root, `${file}.${end}`)))),
      ...names.filter((name) => !exported.has(name)),
    ];
  });
  assert.ok(rows.length > 5, "the table was found");
  assert.deepEqual(wrong, []);
});
