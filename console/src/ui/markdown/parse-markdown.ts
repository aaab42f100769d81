/**
 * Parses Markdown with markdown-it into the console's own tree. Only its parser is used, never its HTML output: tags
 * stay text, and every address passes through `readAddress`. The depth of quotes, lists and emphasis is limited. Pure.
 */
import createParser, { type MarkdownIt, type StateBlock, type StateInline, type Token } from "markdown-it";
import { parseSafeAddress } from "./safe-address.ts";

export type Block =
  | { kind: "code"; language: string; text: string }
  | { kind: "heading"; level: number; words: BlockText }
  | { kind: "paragraph"; words: BlockText }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; start: number | undefined; items: Block[][] }
  | { kind: "table"; columns: Align[]; head: BlockText[]; rows: BlockText[][] }
  | { kind: "rule" };

/** A block's text: the source, and the inline elements parsed from it. */
export interface BlockText {
  source: string;
  nodes: Inline[];
}

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "break" }
  | { kind: "strong" | "emphasis" | "strike"; inside: Inline[] }
  /** A link. Images are never loaded, so they become links too. */
  | { kind: "link"; address: string; image: boolean; inside: Inline[] };

type Align = "left" | "center" | "right";

/** Resolves an address in the text; returns undefined if it must not become a link. */
type ReadAddress = (written: string) => string | undefined;

/** Quotes and lists nested deeper are shown as source text. A quote counts as one level, a list as two. */
const BLOCK_LEVELS_MAX = 16;
/** Emphasis nested deeper is shown as plain text. */
const INLINE_DEPTH_MAX = 16;
/** The maximum depth of elements in a rendered text. */
export const MARKDOWN_DEPTH_MAX = BLOCK_LEVELS_MAX + INLINE_DEPTH_MAX;

interface Reader {
  read(text: string): Block[];
  /** Returns the line numbers at which the top-level blocks begin. */
  starts(text: string): number[];
}

export function markdownReader(readAddress: ReadAddress = parseSafeAddress): Reader {
  const parser = parserWith(readAddress);
  return {
    read: (text) => new Tree(parser.parse(text, {})).blocks(),
    starts(text) {
      const tokens: Token[] = [];
      parser.block.parse(text.replaceAll(/\r\n?/g, "\n"), parser, {}, tokens);
      return tokens.flatMap(({ level, nesting, map }) => (level === 0 && nesting >= 0 && map ? [map[0]] : []));
    },
  };
}

function parserWith(readAddress: ReadAddress): MarkdownIt {
  const parser = createParser({ html: false, linkify: true });
  // Disabled, because models indent text that is not code, draw lines below paragraphs that are not headings, and
  // define no references.
  parser.disable(["code", "lheading", "reference"]);
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  // An address that must not be a link stays plain text.
  parser.normalizeLink = (written) => readAddress(written) ?? "";
  parser.validateLink = (address) => address !== "";
  // Links show the address as written, because a decoded host name could look like another one.
  parser.normalizeLinkText = (text) => text;
  parser.block.ruler.before("blockquote", "depth", showAsWritten, { alt: [] });
  parser.inline.ruler.before("html_inline", "br", readBreak);
  return parser;
}

/** Shows blocks beyond the depth limit as text. Otherwise markdown-it would drop them. */
function showAsWritten(state: StateBlock, start: number, end: number): boolean {
  if (state.level < BLOCK_LEVELS_MAX) return false;
  let next = start + 1;
  while (next < end && !state.isEmpty(next)) next += 1;
  state.push("paragraph_open", "p", 1);
  const words = state.push("inline", "", 0);
  words.content = state.getLines(start, next, state.blkIndent, false).trim();
  words.children = [];
  state.push("paragraph_close", "p", -1);
  state.line = next;
  return true;
}

const BREAK = /^<br ?\/?>/i;

/** Supports `<br>`, the only tag with an effect, because table cells have no other way to break a line. */
function readBreak(state: StateInline, silent: boolean): boolean {
  const [tag] = BREAK.exec(state.src.slice(state.pos, state.pos + 6)) ?? [];
  if (tag === undefined) return false;
  if (!silent) state.push("hardbreak", "br", 0);
  state.pos += tag.length;
  return true;
}

/** Builds the tree from markdown-it's flat list of tokens, where `x_open` and `x_close` enclose the content. */
class Tree {
  readonly #tokens: Token[];
  #at = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  /** Reads blocks up to the end, or past the token that closes the current block. */
  blocks(): Block[] {
    const blocks: Block[] = [];
    for (let token = this.#next(); token !== undefined && token.nesting >= 0; token = this.#next()) {
      blocks.push(this.#block(token));
    }
    return blocks;
  }

  #next(): Token | undefined {
    return this.#tokens[this.#at++];
  }

  #block(token: Token): Block {
    switch (token.type) {
      case "fence": {
        const [language = ""] = token.info.trim().split(/\s/, 1);
        return { kind: "code", language, text: token.content.replace(/\n$/, "") };
      }
      case "heading_open":
        return { kind: "heading", level: Number(token.tag.slice(1)), words: this.#words() };
      case "paragraph_open":
        return { kind: "paragraph", words: this.#words() };
      case "blockquote_open":
        return { kind: "quote", blocks: this.blocks() };
      case "bullet_list_open":
        return { kind: "list", start: undefined, items: this.#items() };
      case "ordered_list_open":
        return { kind: "list", start: Number(token.attrGet("start") ?? 1), items: this.#items() };
      case "table_open":
        return this.#table();
      case "hr":
        return { kind: "rule" };
    }
    throw new Error(`markdown-it gave a block that is not drawn: ${token.type}`);
  }

  #words(): BlockText {
    const token = this.#next();
    this.#next();
    return { source: token?.content ?? "", nodes: inlineOf(token?.children ?? []) };
  }

  #items(): Block[][] {
    const items: Block[][] = [];
    while (this.#next()?.nesting === 1) items.push(this.blocks());
    return items;
  }

  #table(): Block {
    const columns: Align[] = [];
    const rows: BlockText[][] = [];
    for (let token = this.#next(); token !== undefined && token.type !== "table_close"; token = this.#next()) {
      if (token.type === "tr_open") rows.push([]);
      else if (token.type === "th_open" || token.type === "td_open") {
        if (token.type === "th_open") columns.push(alignOf(token));
        rows.at(-1)?.push(this.#words());
      }
    }
    const [head = [], ...others] = rows;
    return { kind: "table", columns, head, rows: others };
  }
}

function alignOf(token: Token): Align {
  const [, align] = /text-align:(center|right)/.exec(attribute(token, "style")) ?? [];
  return (align as Align | undefined) ?? "left";
}

const KINDS: Record<string, "strong" | "emphasis" | "strike"> = {
  strong_open: "strong",
  em_open: "emphasis",
  s_open: "strike",
};

function inlineOf(tokens: Token[]): Inline[] {
  const root: Inline[] = [];
  /**
   * A stack of the lists that receive nodes, innermost last. Nodes beyond the depth limit and links without an address
   * have no list of their own, so their content goes to the current list.
   */
  const open = [root];
  for (const token of tokens) {
    const into = open.at(-1) as Inline[];
    if (token.nesting === -1) open.pop();
    else if (token.nesting === 1) {
      const node = open.length > INLINE_DEPTH_MAX ? undefined : openedBy(token);
      if (node !== undefined) into.push(node);
      open.push(node?.inside ?? into);
    } else into.push(...partOf(token));
  }
  return root.map(withWords);
}

function openedBy(token: Token): (Inline & { inside: Inline[] }) | undefined {
  if (token.type === "link_open") return linkTo(attribute(token, "href"), false);
  const kind = KINDS[token.type];
  if (kind === undefined) throw new Error(`markdown-it gave a part of a line that is not drawn: ${token.type}`);
  return { kind, inside: [] };
}

/** Makes a link. Undefined without an address, as in `[x]()`, which is not a link. */
const linkTo = (address: string, image: boolean): (Inline & { kind: "link" }) | undefined =>
  address === "" ? undefined : { kind: "link", address, image, inside: [] };

function partOf(token: Token): Inline[] {
  if (token.type === "text") return token.content === "" ? [] : [{ kind: "text", text: token.content }];
  if (token.type === "code_inline") return [{ kind: "code", text: token.content }];
  if (token.type === "softbreak" || token.type === "hardbreak") return [{ kind: "break" }];
  if (token.type !== "image") throw new Error(`markdown-it gave a part of a line that is not drawn: ${token.type}`);
  const words: Inline[] = (token.children ?? []).flatMap((child) => (child.nesting === 0 ? partOf(child) : []));
  const link = linkTo(attribute(token, "src"), true);
  if (link === undefined) return words;
  link.inside.push(...words.flatMap(withoutLinks));
  return [link];
}

/** A link without text shows its address. A link cannot contain another link. */
function withWords(node: Inline): Inline {
  if (!("inside" in node)) return node;
  if (node.kind !== "link") return { ...node, inside: node.inside.map(withWords) };
  const inside = node.inside.flatMap(withoutLinks);
  return { ...node, inside: inside.length > 0 ? inside : [{ kind: "text", text: node.address }] };
}

function withoutLinks(node: Inline): Inline[] {
  if (node.kind === "link") return node.inside;
  return "inside" in node ? [{ ...node, inside: node.inside.flatMap(withoutLinks) }] : [node];
}

const attribute = (token: Token, name: string): string => String(token.attrGet(name) ?? "");
