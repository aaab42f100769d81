/** Reads the links, anchors and file names of Markdown files, and finds those whose target does not exist. */
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { type Block, type BlockText, type Inline, markdownReader } from "../console/src/ui/markdown/parse-markdown.ts";
import { createAnchorMaker } from "./guide/heading-anchors.ts";
import { extractPlainText } from "./guide/render-markdown.ts";

const reader = markdownReader((address) => address);

interface Read {
  /** The link targets as written in the file. */
  links: string[];
  anchors: Set<string>;
}

export function readLinks(text: string): Read {
  const links: string[] = [];
  const anchors = new Set<string>();
  const anchor = createAnchorMaker();
  const follow = (nodes: Inline[]): void => {
    for (const node of nodes) {
      if (node.kind === "link") links.push(node.address);
      if ("inside" in node) follow(node.inside);
    }
  };
  const words = ({ source, nodes }: BlockText): Inline[] => {
    follow(nodes);
    // Finds a picture inside a link, and a picture with a width.
    for (const [, inLink, sized] of source.matchAll(/\[!\[[^\]]*\]\(([^)]*)\)\]|<img src="([^"]*)"/g)) {
      links.push(inLink ?? sized ?? "");
    }
    return nodes;
  };
  const walk = (blocks: Block[]): void => {
    for (const block of blocks) {
      if (block.kind === "heading") anchors.add(anchor(extractPlainText(words(block.words))));
      else if (block.kind === "paragraph") words(block.words);
      else if (block.kind === "table") for (const cell of [block.head, ...block.rows].flat()) words(cell);
      else if (block.kind === "quote") walk(block.blocks);
      else if (block.kind === "list") for (const item of block.items) walk(item);
    }
  };
  walk(reader.read(text));
  return { links, anchors };
}

/** Returns the relative links whose file or heading does not exist, as `file: link`. */
export function findBrokenLinks(root: string, files: string[]): string[] {
  const read = new Map<string, Read>();
  const readFile = (file: string): Read => {
    const known = read.get(file) ?? readLinks(readFileSync(join(root, file), "utf8"));
    read.set(file, known);
    return known;
  };
  const isBroken = (file: string, link: string): boolean => {
    if (/^[a-z]+:/i.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? file : posix.join(posix.dirname(file), path);
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && !(target.endsWith(".md") && readFile(target).anchors.has(anchor));
  };
  return files.flatMap((file) =>
    readFile(file)
      .links.filter((link) => isBroken(file, link))
      .map((link) => `${file}: ${link}`),
  );
}

const SOURCE_NAME = /`([\w./-]+\.(?:ts|tsx|mts|mjs|sql))`/g;

/**
 * Returns the source files that a Markdown file mentions as code but that do not exist, as `file: name`. A name is a
 * path or the end of one.
 */
export function findMissingSourceFiles(root: string, files: string[], sources: ReadonlySet<string>): string[] {
  const ends = new Set(
    [...sources].flatMap((source) => source.split("/").map((_, i, parts) => parts.slice(i).join("/"))),
  );
  const exists = (file: string, name: string): boolean =>
    ends.has(posix.normalize(name)) || sources.has(posix.join(posix.dirname(file), name));
  return files.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(SOURCE_NAME)]
      .map(([, name = ""]) => name)
      .filter((name) => !exists(file, name))
      .map((name) => `${file}: ${name}`),
  );
}
