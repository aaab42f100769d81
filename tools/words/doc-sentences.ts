/**
 * Reads the prose of a Markdown page as whole sentences: without headings, tables, code blocks and the addresses of
 * links. Pure functions.
 */
import createParser, { type Token } from "markdown-it";

const WORDS_MIN = 5;

/** Emphasis and links are marked, because names of pages and buttons would otherwise look like ordinary words. */
const MARKS: Record<string, string> = { em_open: "*", em_close: "*", link_open: "[", link_close: "]" };

const parser = createParser({ html: true });

export function listSentences(page: string): string[] {
  return parser.parse(page, {}).flatMap((token, i, tokens) => {
    if (token.type !== "inline" || tokens[i - 1]?.type !== "paragraph_open") return [];
    return split(textOf(token.children ?? [])).filter((sentence) => wordsIn(sentence) >= WORDS_MIN);
  });
}

const textOf = (tokens: Token[]): string =>
  tokens
    .map(({ type, content }) => {
      if (type === "code_inline") return `\`${content}\``;
      if (type === "softbreak" || type === "hardbreak") return " ";
      return MARKS[type] ?? (type === "text" ? content : "");
    })
    .join("");

/** Splits a text at full stops, question marks and exclamation marks, except inside code or after "e.g.". */
function split(text: string): string[] {
  const whole = text.trim().replaceAll(/\s+/g, " ");
  return whole
    .split(/(?<=[.!?]["”)\]]?(?<!\b(?:e\.g|i\.e|vs)\.)) (?=["“(`[*]*[A-Z0-9`])/)
    .filter((part) => /^\W*[A-Z0-9`].*[.!?]["”)\]]?$/.test(part));
}

const wordsIn = (sentence: string): number => sentence.match(/\S*[\p{L}\d]\S*/gu)?.length ?? 0;
