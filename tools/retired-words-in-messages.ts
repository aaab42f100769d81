/**
 * Finds retired words (words that the glossary replaces) in the product's messages. Messages are texts of several words
 * in the sources of the APIs, the gateway and the agent (errors, log lines, emails, descriptions of the API, help of
 * metrics and settings), and the error messages of database functions. `node tools/retired-words-in-messages.ts` lists
 * the findings.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findReplacements } from "./words/retired-words.ts";

const SOURCES = [
  "{api,gateway,host,protocol}/src/**/*.ts",
  "gateway/sql/functions/*.sql",
  "deploy/prometheus/alerts.yml",
];
/** Files that are not read: the commands' own output, tests, and the questions that gateways send to nodes. */
const ELSEWHERE =
  /\.test\.ts$|\/testing(\/|\.ts$)|\/fixtures\/|^gateway\/src\/(commands|site\/reference|trust\/questions)\/|^host\/src\/(command\/|cli\.ts)/;

/** Texts that may contain a retired word, with the reason. */
const ALLOWED: Record<string, string> = {
  "[When the limits server is away](failures.md#when-the-limits-server-is-away)": "the heading of another page",
};

interface Finding {
  file: string;
  line: number;
  text: string;
  instead: string;
}

/**
 * Comments and regular expressions are matched as well, so that quotes in them are not taken for the start of a string.
 */
const PATTERN = String.raw`(?<=[(=,:[!&|?{;]\s*)\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/`;
const QUOTED = String.raw`"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'`;
const IN_CODE = new RegExp(String.raw`\/\/.*|\/\*[\s\S]*?\*\/|${PATTERN}|${QUOTED}|\`((?:[^\`\\]|\\.)*)\``, "g");
const IN_SQL_OR_YAML = new RegExp(`--.*|#.*|${QUOTED}`, "g");
const FILLED_IN = /\$\{[^}]*\}/g;
const SEVERAL_WORDS = /[a-z]{2,}[,.:;]? +[a-z]/i;
const QUERY = /^\s*(select|insert|update|delete|with|create|alter|drop|lock|declare|fetch)\b|\$\d|::/;

export function findRetiredWordsIn(file: string, source: string): Finding[] {
  const tokens = source.matchAll(file.endsWith(".ts") ? IN_CODE : IN_SQL_OR_YAML);
  return [...tokens].flatMap(({ index, 1: double, 2: single, 3: template }) => {
    const text = (double ?? single ?? template ?? "").replace(FILLED_IN, "…");
    if (!SEVERAL_WORDS.test(text) || QUERY.test(text) || ALLOWED[text] !== undefined) return [];
    const line = source.slice(0, index).split("\n").length;
    return findReplacements("messages", text).map((instead) => ({ file, line, text, instead }));
  });
}

const messageFiles = (root: string): string[] =>
  globSync(SOURCES, { cwd: root }).filter((file) => !ELSEWHERE.test(file));

export function findRetiredWords(root: string): Finding[] {
  return messageFiles(root)
    .sort()
    .flatMap((file) => findRetiredWordsIn(file, readFileSync(join(root, file), "utf8")));
}

/** Returns exceptions that no message needs any more. */
export function findUnusedExemptions(root: string): string[] {
  const sources = messageFiles(root).map((file) => readFileSync(join(root, file), "utf8"));
  return Object.keys(ALLOWED).filter((text) => !sources.some((source) => source.includes(text)));
}

if (import.meta.main) {
  for (const { file, line, text, instead } of findRetiredWords(fileURLToPath(new URL("..", import.meta.url))))
    console.log(`${file}:${line}: say "${instead}" in: ${text}`);
}
