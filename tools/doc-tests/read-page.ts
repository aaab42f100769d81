/**
 * Parses a page of the guides for the doc tests: its code blocks in order, the attributes of their fences, and
 * mistakes. e2e/docs documents the rules for writing a page, and runs the blocks. Pure functions.
 */
import createParser, { type Token } from "markdown-it";

/** The environment that the blocks of a page need. `none`: no block is run. */
export type PageKind = "platform" | "platform-without-node" | "clone" | "clone-with-database" | "none";

export interface CodeBlock {
  language: string;
  text: string;
  /** The line number of the block's fence in the file; the code begins on the next line. */
  line: number;
  /** The reason why the block is not run. */
  noRun: string | undefined;
  /** Set if the block keeps running; this text in its output shows that it is ready. */
  background: string | undefined;
  /** The output that the page shows for the block. */
  output: { text: string; line: number } | undefined;
}

interface Page {
  kind: PageKind;
  blocks: CodeBlock[];
  /** Each mistake begins with its line number. */
  mistakes: string[];
}

const KINDS: readonly string[] = [
  "platform",
  "platform-without-node",
  "clone",
  "clone-with-database",
  "none",
] satisfies PageKind[];
const HEADER = /^<!-- doctest: (.*) -->$/m;
const RUN = ["sh", "python", "ts"];
const OUTPUT = "output";
const LANGUAGES = [...RUN, OUTPUT, "json", "yaml", "text", "ini", "toml", "sql", "go", "java"];

const parser = createParser({ html: true });

/** The blocks that are run, in order. */
export const selectRunnableBlocks = ({ kind, blocks }: Page): CodeBlock[] =>
  kind === "none" ? [] : blocks.filter(({ language, noRun }) => RUN.includes(language) && noRun === undefined);

export function readPage(text: string): Page {
  const mistakes: string[] = [];
  const header = HEADER.exec(text);
  const kind = header?.[1] ?? "platform";
  if (!KINDS.includes(kind)) mistakes.push(`line 1: "${kind}" is none of the kinds of page: ${KINDS.join(", ")}`);
  if (header !== null && header.index > 0) mistakes.push("line 1: <!-- doctest: … --> has to be the first line");
  const blocks: CodeBlock[] = [];
  parser.parse(text, {}).forEach((token, i, tokens) => {
    if (token.type !== "fence") return;
    const { mistakes: own, ...block } = blockOf(token);
    mistakes.push(...own.map((mistake) => `line ${block.line}: ${mistake}`));
    if (block.language !== OUTPUT) blocks.push(block);
    else if (isOfRunLanguage(tokens[i - 1])) {
      (blocks.at(-1) as CodeBlock).output = { text: block.text, line: block.line };
    } else mistakes.push(`line ${block.line}: output stands directly after the block that prints it`);
  });
  return { kind: kind as PageKind, blocks, mistakes };
}

const languageOf = ({ info }: Token): string => info.trim().split(/\s/, 1)[0] ?? "";
const isOfRunLanguage = (token: Token | undefined): boolean =>
  token?.type === "fence" && RUN.includes(languageOf(token));

function blockOf(token: Token): CodeBlock & { mistakes: string[] } {
  const language = languageOf(token);
  const { attributes, mistakes } = attributesOf(token.info.trim().slice(language.length));
  const { "no-run": noRun, background } = attributes;
  if (!LANGUAGES.includes(language)) {
    mistakes.push(`the fence's language "${language}" is none of ${LANGUAGES.join(", ")}`);
  }
  if (noRun !== undefined && !RUN.includes(language)) mistakes.push(`only ${RUN.join(", ")} blocks have no-run`);
  if (background !== undefined && language !== "sh") mistakes.push("only sh blocks have background");
  if (language === "sh") mistakes.push(...shellMistakes(token.content));
  const line = (token.map?.[0] ?? 0) + 1;
  return { language, text: token.content, line, noRun, background, output: undefined, mistakes };
}

interface Attributes {
  "no-run"?: string;
  background?: string;
}

function attributesOf(text: string): { attributes: Attributes; mistakes: string[] } {
  const attributes: Attributes = {};
  const mistakes: string[] = [];
  const rest = text.replaceAll(/\s([a-z-]+)="([^"]*)"(?=\s|$)/g, (_, name: string, value: string) => {
    if (name !== "no-run" && name !== "background") mistakes.push(`fences have no attribute ${name}`);
    else if (value.trim() === "") mistakes.push(`${name} needs a text`);
    else attributes[name] = value;
    return "";
  });
  if (rest.trim() !== "") mistakes.push(`after its language a fence has attributes (name="text"), not ${rest.trim()}`);
  return { attributes, mistakes };
}

function shellMistakes(code: string): string[] {
  return [
    ...(/^\s*\$ /m.test(code) ? ["no $ prompts: they are copied with the command"] : []),
    ...(/(?<![\w./-])jq(?![\w./-])/.test(code) ? ["no jq: not everybody has it; use node -p, or a flag"] : []),
  ];
}
