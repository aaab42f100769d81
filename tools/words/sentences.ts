/** The prose of a Markdown page as whole sentences: without headings, tables, code blocks and the addresses of links. Pure. */
import createParser, { type Token } from "markdown-it";

const WORDS_MIN = 5;

/** What readers see of emphasis and links: names of pages and buttons would read as words without them. */
const MARKS: Record<string, string> = { em_open: "*", em_close: "*", link_open: "[", link_close: "]" };

const parser = createParser({ html: true });

export function sentencesIn(page: string): string[] {
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

/** At a full stop, question mark or exclamation mark; a stop inside of code or after "e.g." ends nothing. */
function split(text: string): string[] {
  const whole = text.trim().replaceAll(/\s+/g, " ");
  return whole
    .split(/(?<=[.!?]["”)\]]?(?<!\b(?:e\.g|i\.e|vs)\.)) (?=["“(`[*]*[A-Z0-9`])/)
    .filter((part) => /^\W*[A-Z0-9`].*[.!?]["”)\]]?$/.test(part));
}

const wordsIn = (sentence: string): number => sentence.match(/\S*[\p{L}\d]\S*/gu)?.length ?? 0;
