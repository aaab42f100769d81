/**
 * Finds retired words in the texts of the console, the status page and the gateway's home page. Reads only texts (JSX
 * text, strings and templates), not comments, names, imports, types, class names or compared values.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SHOWN = [
  "console/src/**/*.{ts,tsx}",
  "gateway/src/site/status/status-page.ts",
  "gateway/src/site/reference/home-page.ts",
];

/** Retired words and phrases, in the form used within a sentence, with their replacements. */
const RETIRED: Record<string, string> = {
  "e-mail": "email",
  letter: "email",
  "the books": "the ledger",
  "under way": "in flight, in progress",
  "the mark": "the threshold, this amount",
  prove: "check",
  proved: "checked",
  "base address": "base URL",
  dialect: "OpenAI-compatible",
  "for want of": "insufficient",
  anew: "resets",
  "apart from": "separately from",
  "set off": "set-off, deducted",
  "by itself": "automatically",
  "turned itself": "name what acts",
  "at once": "immediately, at the same time",
  "goes on": "continues, ongoing",
  "go on": "continue",
  told: "shown, sent",
  somebody: "someone",
  anybody: "anyone",
  nobody: "no one, none",
  whoever: "name who",
  "who asked": "who sent a request",
  "need a look": "need attention",
  "went quiet": "stalled",
  "lost the line": "connection lost",
  "client left": "client disconnected",
  "clients that left": "client disconnects",
  "is no promise": "say what is different",
  "could not be accepted": "invalid",
  "as there may be": "Limit reached: …",
  "not sampled": "not measured, no data",
  "ended well": "successful",
  "what was": "name the thing",
  "what reached": "name the thing",
  "what they": "name the thing",
};

const PATTERN = new RegExp(`(?<![\\w-])(?:${Object.keys(RETIRED).join("|").replaceAll(" ", "\\s+")})(?![\\w-])`, "gi");

interface Finding {
  line: number;
  word: string;
}

interface SyntaxNode {
  type: string;
  start: number;
  end: number;
  [part: string]: unknown;
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as SyntaxNode).type === "string";

const TEXTS = new Set(["JSXText", "TemplateElement"]);
const UNSEEN = /^(Import|TS(?!AsExpression|SatisfiesExpression|NonNullExpression))/;

/** Yields the parts of the program that contain texts, in order. */
function* textNodes(node: SyntaxNode): Generator<SyntaxNode> {
  if (UNSEEN.test(node.type)) return;
  if (TEXTS.has(node.type) || (node.type === "Literal" && typeof node.value === "string")) yield node;
  if (node.type === "BinaryExpression" && /^[!=]==$/.test(String(node.operator))) return;
  if (node.type === "JSXAttribute" && (node.name as SyntaxNode).name === "className") return;
  for (const part of Object.values(node)) {
    for (const each of Array.isArray(part) ? part : [part]) if (isNode(each)) yield* textNodes(each);
  }
}

function findingsIn(file: string, source: string): Finding[] {
  const { program, errors } = parseSync(file, source);
  assert.deepEqual(errors, [], file);
  return [...textNodes(program as unknown as SyntaxNode)].flatMap(({ start, end }) =>
    [...source.slice(start, end).matchAll(PATTERN)].map(({ index, 0: text }) => ({
      line: source.slice(0, start + index).split("\n").length,
      word: text.toLowerCase().replaceAll(/\s+/g, " "),
    })),
  );
}

test("no text of the console contains a word that its word list replaces", () => {
  const files = SHOWN.flatMap((shown) => globSync(shown, { cwd: ROOT })).filter((file) => !file.includes(".test."));
  assert.ok(files.length > 250, `${files.length} files`);
  const found = files
    .sort()
    .flatMap((file) =>
      findingsIn(file, readFileSync(join(ROOT, file), "utf8")).map(
        ({ line, word }) => `${file}:${line}: "${word}" (instead: ${RETIRED[word]})`,
      ),
    );
  assert.deepEqual(found, []);
});

test("finds retired words in displayed texts only", () => {
  const source = `
import "under way";
/** under way */
const underWay = state === "under way" ? "it is under way" : \`\${x} under way\`;
const Page = () => <p className="under way" title="Under way">
  requests under
  way
</p>;
`;
  const lines = findingsIn("page.tsx", source).map(({ line }) => line);
  assert.deepEqual(lines, [4, 4, 5, 6]);
});
