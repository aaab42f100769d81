/**
 * Draws random texts for an outsider to rate: `npx node tools/words/draw-sample.ts --seed N` draws sentences of the
 * docs and messages of the product; with `--of code` titles of tests, comments and names.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { guidePages } from "../doc-tests/pages.ts";
import { readCodeTexts } from "./code-texts.ts";
import { listSentences } from "./doc-sentences.ts";
import { listMessages } from "./user-messages.ts";

const DRAWN = { sentences: 40, messages: 40, titles: 70, comments: 40, names: 40 };
const SOURCES = ["{api,gateway,host,protocol,terminal}/src/**/*.ts", "console/src/**/*.{ts,tsx}"];
/** Files whose texts are not shown to users: tests, and texts that only models and nodes read. */
const ELSEWHERE =
  /\.test\.tsx?$|\/testing(\/|[-.])|\/fixtures\/|^gateway\/src\/(trust\/(questions|made-up)|metering\/chat-templates|plane\/hub|site\/reference)|^host\/src\/engines\/([\w-]+-check|script|scripted)\.ts$|(samples|sample-responses|sample-requests-and-responses|code-samples)\.ts$/;
/**
 * Returns whether a text counts as a message to users. In the API's declarations only errors are messages; in the
 * console only sentences count, because its other texts are labels.
 */
function isShown(file: string, text: string): boolean {
  if (file.startsWith("api/")) return file === "api/src/faults.ts" || /\bmust\b|^Limit reached/.test(text);
  return !file.startsWith("console/") || /[.!?]$/.test(text);
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const unique = (texts: string[]): string[] => [...new Set(texts)].sort();

const allSentences = (): string[] => unique(guidePages(ROOT).flatMap((page) => listSentences(read(page))));
const allMessages = (): string[] =>
  unique(
    SOURCES.flatMap((source) => globSync(source, { cwd: ROOT }))
      .filter((file) => !ELSEWHERE.test(file))
      .flatMap((file) => listMessages(file, read(file)).filter((text) => isShown(file, text))),
  );

const CODE =
  "{api,bench,chaos,console,demo-provider,e2e,engines,gateway,host,protocol,sim,stage,terminal,tools}/**/*.{ts,tsx}";
/** Generated files, and packages. */
const NO_CODE = /(^|\/)(node_modules|dist|\.cache)\/|\.d\.ts$/;

/**
 * Returns the titles of tests (with their suites, as the test runner prints them), the comments and exported names
 * (with the code beside them), and the names of files.
 */
function allCode(): { titles: string[]; comments: string[]; names: string[] } {
  const files = globSync(CODE, { cwd: ROOT, exclude: ["**/node_modules"] })
    .filter((file) => !NO_CODE.test(file))
    .sort();
  const codes = files.map((file) => ({ file, ...readCodeTexts(file, read(file)) }));
  return {
    titles: codes.flatMap(({ file, titles }) =>
      titles.filter(({ isSuite }) => !isSuite).map(({ suites, text }) => [basename(file), ...suites, text].join(" › ")),
    ),
    comments: codes.flatMap(({ file, comments }) =>
      comments.map(({ line, text, code }) => `${file}:${line}: ${text}${line === 1 ? "" : ` ▸ ${code}`}`),
    ),
    names: codes.flatMap(({ file, names }) => [file, ...names.map(({ text, code }) => `${text} in ${file} ▸ ${code}`)]),
  };
}

/** Draws without replacement; the same seed and texts give the same draw (algorithm: mulberry32). */
export function pickRandomTexts(texts: readonly string[], count: number, seed: number): string[] {
  let state = seed;
  const below = (bound: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
  const left = [...texts];
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(below(left.length), 1)[0] as string);
}

if (import.meta.main) {
  const { seed: given, of } = parseArgs({
    options: { seed: { type: "string" }, of: { type: "string", default: "messages" } },
  }).values;
  const seed = Number(given);
  assert.ok(Number.isSafeInteger(seed), "--seed must be a whole number");
  assert.ok(of === "messages" || of === "code", "--of must be messages or code");
  const texts = of === "code" ? allCode() : { sentences: allSentences(), messages: allMessages() };
  const items = Object.entries(texts).flatMap(([kind, all]) =>
    pickRandomTexts(all, DRAWN[kind as keyof typeof DRAWN], seed),
  );
  console.log(items.map((item, i) => `${i + 1}. ${item}`).join("\n"));
}
