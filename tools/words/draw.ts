/** Draws sentences of the docs and messages of the product for an outsider to rate: `npx node tools/words/draw.ts --seed N`. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { guidePages } from "../doc-tests/pages.ts";
import { messagesIn } from "./messages.ts";
import { sentencesIn } from "./sentences.ts";

const DRAWN_OF_EACH = 40;
const SOURCES = ["{api,gateway,host,protocol,terminal}/src/**/*.ts", "console/src/**/*.{ts,tsx}"];
/** Tests, and texts that models and nodes read. */
const ELSEWHERE =
  /\.test\.tsx?$|\/testing(\/|[-.])|\/fixtures\/|^gateway\/src\/(trust\/(questions|made-up)|metering\/templates|plane\/hub|site\/reference)|^host\/src\/engines\/(\w+-check|script|scripted)\.ts$|samples\.ts$/;
/** Of the API's declarations only errors are messages: the rest is its reference. Of the console, sentences: the rest is labels. */
function isShown(file: string, text: string): boolean {
  if (file.startsWith("api/")) return file === "api/src/faults.ts" || /\bmust\b|^Limit reached/.test(text);
  return !file.startsWith("console/") || /[.!?]$/.test(text);
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const unique = (texts: string[]): string[] => [...new Set(texts)].sort();

const allSentences = (): string[] => unique(guidePages(ROOT).flatMap((page) => sentencesIn(read(page))));
const allMessages = (): string[] =>
  unique(
    SOURCES.flatMap((source) => globSync(source, { cwd: ROOT }))
      .filter((file) => !ELSEWHERE.test(file))
      .flatMap((file) => messagesIn(file, read(file)).filter((text) => isShown(file, text))),
  );

/** Without replacement; the same for the same seed and texts (mulberry32). */
export function draw(texts: readonly string[], count: number, seed: number): string[] {
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
  const seed = Number(parseArgs({ options: { seed: { type: "string" } } }).values.seed);
  assert.ok(Number.isSafeInteger(seed), "--seed must be a whole number");
  const items = [allSentences(), allMessages()].flatMap((texts) => draw(texts, DRAWN_OF_EACH, seed));
  console.log(items.map((item, i) => `${i + 1}. ${item}`).join("\n"));
}
