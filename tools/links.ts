/** Reads what a Markdown file links to, and which anchors it has; says which links lead nowhere. */
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { blocksOf } from "../console/src/ui/markdown/blocks.ts";
import { type Inline, inlineOf } from "../console/src/ui/markdown/inline.ts";
import { anchorMaker } from "./guide/anchors.ts";
import { textOf } from "./guide/render.ts";

interface Read {
  /** As they are written. */
  links: string[];
  anchors: Set<string>;
}

export function readLinks(text: string): Read {
  const links: string[] = [];
  const anchors = new Set<string>();
  const anchor = anchorMaker();
  const follow = (nodes: Inline[]): void => {
    for (const node of nodes) {
      if (node.kind === "link") links.push(node.address);
      if ("inside" in node) follow(node.inside);
    }
  };
  const words = (line: string): Inline[] => {
    const nodes = inlineOf(line, (address) => address);
    follow(nodes);
    // A picture within a link, and one with a width.
    for (const [, inLink, sized] of line.matchAll(/\[!\[[^\]]*\]\(([^)]*)\)\]|<img src="([^"]*)"/g)) {
      links.push(inLink ?? sized ?? "");
    }
    return nodes;
  };
  const walk = (inside: string, depth: number): void => {
    for (const { block } of blocksOf(inside, depth)) {
      if (block.kind === "heading") anchors.add(anchor(textOf(words(block.text))));
      else if (block.kind === "paragraph") words(block.text);
      else if (block.kind === "table") for (const cell of [block.head, ...block.rows].flat()) words(cell);
      else if (block.kind === "quote") walk(block.text, depth + 1);
      else if (block.kind === "list") for (const item of block.items) walk(item, depth + 1);
    }
  };
  walk(text, 0);
  return { links, anchors };
}

/** Of the files' relative links, those whose file or heading is not there: `file: link`. */
export function brokenLinks(root: string, files: string[]): string[] {
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
