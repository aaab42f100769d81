/**
 * Renders a guide page from Markdown with the console's parser. Raw HTML becomes text, except pictures with a width;
 * comments are removed.
 */
import {
  type Block,
  type BlockText,
  type Inline,
  markdownReader,
} from "../../console/src/ui/markdown/parse-markdown.ts";
import { Html, html } from "../../gateway/src/site/reference/html-template.ts";
import {
  ADDRESS_PLACEHOLDER,
  codeFigure as codeBlock,
  outputBlock,
} from "../../gateway/src/site/reference/page-frame.ts";
import { createAnchorMaker } from "./heading-anchors.ts";
import { findCaption, highlight, LOCAL_ADDRESS } from "./highlight.ts";

interface Picture {
  url: string;
  width: number;
  height: number;
}

/** Resolves the addresses of a file's links and pictures for the guide. */
export interface LinkTargets {
  /** Returns the link's URL; undefined if the target is not in the guide, so that only the link's text is shown. */
  link(address: string): string | undefined;
  picture(address: string): Picture;
}

export interface Heading {
  level: number;
  id: string;
  text: string;
}

interface RenderedPage {
  title: string;
  /** The headings, not including the page's title. */
  headings: Heading[];
  body: Html;
}

export function renderPage(text: string, places: LinkTargets): RenderedPage {
  const renderer = new Renderer(places);
  const body = renderer.blocks(reader.read(withoutComments(text)));
  const [title, ...headings] = renderer.headings;
  if (title?.level !== 1) throw new Error("a page begins with its title (# …)");
  return { title: title.text, headings, body };
}

/** Removes HTML comments, except in code, where they belong to the example. */
const withoutComments = (text: string): string =>
  text.replaceAll(/^( *)(`{3,}|~{3,})[\s\S]*?^\1\2|<!--[\s\S]*?-->/gm, (found, _indent, fence) =>
    fence === undefined ? "" : found,
  );

/** `LinkTargets` resolves addresses, so the parser leaves them unchanged. */
const reader = markdownReader((address) => address);

const PICTURES = /^(?:<p>\s*)?(?:<img [^>]*>\s*)+(?:<\/p>)?$/;
const PICTURE = /<img src="([^"]*)" alt="([^"]*)" width="(\d+)">/g;
class Renderer {
  readonly headings: Heading[] = [];
  readonly #places: LinkTargets;
  readonly #anchor = createAnchorMaker();

  constructor(places: LinkTargets) {
    this.#places = places;
  }

  blocks(blocks: Block[]): Html {
    return html`${blocks.map((block) => this.#block(block))}`;
  }

  #block(block: Block): Html {
    switch (block.kind) {
      case "heading":
        return this.#heading(block.level, block.words.nodes);
      case "paragraph":
        return PICTURES.test(block.words.source)
          ? this.#pictures(block.words.source)
          : html`<p>${this.#inline(block.words.nodes)}</p>\n`;
      case "code":
        return html`${this.#code(block)}\n`;
      case "quote":
        return html`<blockquote>${this.blocks(block.blocks)}</blockquote>\n`;
      case "list":
        return this.#list(block);
      case "table":
        return this.#table(block);
      case "rule":
        return html`<hr>\n`;
    }
  }

  #heading(level: number, words: Inline[]): Html {
    const plain = extractPlainText(words);
    const id = this.#anchor(plain);
    this.headings.push({ level, id, text: plain });
    const tag = new Html(`h${level}`);
    const shown = this.#inline(words);
    return html`<${tag} id="${id}">${level === 1 ? shown : html`<a href="#${id}">${shown}</a>`}</${tag}>\n`;
  }

  #code({ language, text }: { language: string; text: string }): Html {
    const place = `, in ${this.headings.at(-1)?.text ?? ""}`;
    if (language === "output") return outputBlock(`Output${place}`, highlight("text", text));
    const caption = findCaption(language);
    return codeBlock(`${caption}${place}`, highlight(language, text), caption);
  }

  #list({ start, items }: { start: number | undefined; items: Block[][] }): Html {
    const tag = new Html(start === undefined ? "ul" : "ol");
    const from = start === undefined || start === 1 ? "" : html` start="${start}"`;
    const inside = items.map((item) => html`<li>${tight(this.blocks(item))}</li>\n`);
    return html`<${tag}${from}>\n${inside}</${tag}>\n`;
  }

  /**
   * Renders a table in a box that scrolls, also by keyboard, because some tables have more columns than fit on a phone.
   * On a phone, tables with three or four columns and long cells are shown as stacked rows, with each cell after its
   * column's name.
   */
  #table({ head, rows }: { head: BlockText[]; rows: BlockText[][] }): Html {
    const isStacked =
      (head.length === 3 || head.length === 4) && rows.flat().some(({ source }) => source.length > LONG_CHARS);
    const cell = ({ nodes }: BlockText, i: number) => {
      const name = i === 0 ? "" : extractPlainText(head[i]?.nodes ?? []);
      return html`<td${isStacked && name !== "" ? html` data-column="${name}"` : ""}>${this.#inline(nodes, BREAK)}</td>`;
    };
    const named = ({ source, nodes }: BlockText) =>
      source === "" ? html`<td></td>` : html`<th scope="col">${this.#inline(nodes)}</th>`;
    const top = head.every(({ source }) => source === "") ? "" : html`<thead><tr>${head.map(named)}</tr></thead>\n`;
    const label = `Table in ${this.headings.at(-1)?.text ?? ""}`;
    const body = rows.map((row) => html`<tr>${row.map(cell)}</tr>\n`);
    return html`<div class="wide${isStacked ? " stacked" : ""}" tabindex="0" role="group" aria-label="${label}"><table>\n${top}<tbody>\n${body}</tbody>\n</table></div>\n`;
  }

  #pictures(text: string): Html {
    const found = [...text.matchAll(PICTURE)];
    if (found.length !== text.split("<img").length - 1)
      throw new Error(`a picture without src, alt and width: ${text}`);
    const shown = found.map(([, src = "", alt = "", width = ""]) => {
      const { url, ...size } = this.#places.picture(src);
      const height = Math.round((size.height * Number(width)) / size.width);
      return html`<img src="${url}" alt="${alt}" width="${width}" height="${height}" loading="lazy">\n`;
    });
    return html`<p class="pictures">${shown}</p>\n`;
  }

  /**
   * Renders text. A line break becomes a space, unless it is marked as a hard break. A percent sign stays on the line of
   * its number.
   */
  #inline(nodes: Inline[], lineEnd: Html | string = " "): Html {
    return html`${nodes.map((node): Html | string => {
      if (node.kind === "text") return node.text.replaceAll(/(?<=\d) %/g, "\u00a0%");
      if (node.kind === "code")
        return html`<code>${node.text === BASE_URL ? `${ADDRESS_PLACEHOLDER}/v1` : node.text}</code>`;
      if (node.kind === "break") return lineEnd;
      const inside = this.#inline(node.inside, lineEnd);
      if (node.kind === "link") {
        if (node.image) throw new Error(`a picture is written with its width (<img …>): ${node.address}`);
        const url = this.#places.link(node.address);
        return url === undefined ? inside : html`<a href="${url}">${inside}</a>`;
      }
      const tag = new Html({ strong: "strong", emphasis: "em", strike: "s" }[node.kind]);
      return html`<${tag}>${inside}</${tag}>`;
    })}`;
  }
}

/**
 * Only a base URL (the address with `/v1`) is replaced within a sentence: the address alone often means the operator's
 * own machine there.
 */
const BASE_URL = `${LOCAL_ADDRESS}/v1`;

const BREAK = html`<br>`;
/** A cell with more characters than this counts as long. */
const LONG_CHARS = 80;

/** Removes the paragraph tags of a list item with a single paragraph. */
function tight(item: Html): Html {
  const [, only] = /^<p>((?:(?!<p>)[\s\S])*)<\/p>\n$/.exec(item.text) ?? [];
  return only === undefined ? item : new Html(only);
}

export function extractPlainText(nodes: Inline[]): string {
  return nodes
    .map((node) => ("inside" in node ? extractPlainText(node.inside) : node.kind === "break" ? " " : node.text))
    .join("");
}
