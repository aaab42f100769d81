/**
 * What stands within a line of Markdown: emphasis, code, links. One pass with a stack of what is open; whatever finds no end
 * stays the text it is. Nothing looks further back than it can be charged for, so the time is linear. Raw HTML is text. Pure.
 */
import { safeAddress } from "./address.ts";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "break" }
  | { kind: "strong" | "emphasis" | "strike"; inside: Inline[] }
  /** An image of a model's answer is never loaded: it is a link to it. */
  | { kind: "link"; address: string; image: boolean; inside: Inline[] };

/** Deeper emphasis stays text. */
const DEPTH_MAX = 16;
const PARENTHESES_MAX = 3;
const ADDRESS_CHARS_MAX = 4_096;
const ESCAPABLE = "\\`*_{}[]()#+-.!|<>~\"'$%&,/:;=?@^";
const ENTITIES: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  "#39": "'",
  nbsp: "\u00a0",
};
const BREAK = /^<br ?\/?>/i;
const SCHEME = /^(?:https?:\/\/|mailto:)/i;

/** What becomes of an address that is written in the text; undefined where it is to lead nowhere. */
type ReadAddress = (written: string) => string | undefined;

export function inlineOf(text: string, readAddress: ReadAddress = safeAddress): Inline[] {
  return new Reader(text, readAddress).read();
}

/** Something that may turn out to begin emphasis or a link. */
interface Opener {
  char: string;
  /** How many of its characters are still unmatched. */
  left: number;
  /** Where its text stands among the nodes. */
  node: number;
}

class Reader {
  readonly #text: string;
  readonly #readAddress: ReadAddress;
  #at = 0;
  #plain = "";
  readonly #nodes: Inline[] = [];
  readonly #depths: number[] = [];
  /** Emphasis that has begun, and brackets, each innermost last. */
  readonly #open: Opener[] = [];
  readonly #brackets: Opener[] = [];
  /** How many of each character are open: none means nothing to look for. */
  readonly #openCount: Record<string, number> = { "*": 0, _: 0, "~": 0 };
  /** Where runs of so many backticks stand, the last first. */
  readonly #ticks: Map<number, number[]>;

  constructor(text: string, readAddress: ReadAddress) {
    this.#text = text;
    this.#readAddress = readAddress;
    this.#ticks = tickRuns(text);
  }

  read(): Inline[] {
    while (this.#at < this.#text.length) this.#step();
    this.#flush();
    return this.#nodes;
  }

  #step(): void {
    const char = this.#text.charAt(this.#at);
    if (char === "\\") this.#escape();
    else if (char === "`") this.#code();
    else if (char === "\n") {
      this.#plain = this.#plain.trimEnd();
      this.#put({ kind: "break" }, 1);
    } else if (char === "*" || char === "_" || char === "~") this.#delimiter(char);
    else if (char === "[") this.#bracket("[");
    else if (char === "!" && this.#text.charAt(this.#at + 1) === "[") this.#bracket("![");
    else if (char === "]") this.#closeBracket();
    else if (char === "<") this.#angle();
    else if (char === "&") this.#entity();
    else if ((char === "h" || char === "H") && !isWord(this.#text.charAt(this.#at - 1))) this.#bareAddress();
    else this.#take(1);
  }

  #take(length: number): void {
    this.#plain += this.#text.slice(this.#at, this.#at + length);
    this.#at += length;
  }

  #flush(): void {
    if (this.#plain === "") return;
    this.#nodes.push({ kind: "text", text: this.#plain });
    this.#depths.push(0);
    this.#plain = "";
  }

  #put(node: Inline, length: number, depth = 0): void {
    this.#flush();
    this.#nodes.push(node);
    this.#depths.push(depth);
    this.#at += length;
  }

  #escape(): void {
    const next = this.#text.charAt(this.#at + 1);
    if (next !== "" && ESCAPABLE.includes(next)) {
      this.#plain += next;
      this.#at += 2;
    } else if (next === "\n") this.#at += 1;
    else this.#take(1);
  }

  #code(): void {
    const length = runAt(this.#text, this.#at);
    const runs = this.#ticks.get(length) ?? [];
    // Those behind us are done with for good.
    while (runs.length > 0 && (runs.at(-1) as number) <= this.#at) runs.pop();
    const end = runs.at(-1);
    if (end === undefined) {
      this.#take(length);
      return;
    }
    const inside = this.#text.slice(this.#at + length, end).replaceAll("\n", " ");
    const isPadded = inside.startsWith(" ") && inside.endsWith(" ") && inside.trim() !== "";
    this.#put({ kind: "code", text: isPadded ? inside.slice(1, -1) : inside }, end + length - this.#at);
  }

  #delimiter(char: string): void {
    const length = runAt(this.#text, this.#at);
    const before = this.#text.charAt(this.#at - 1);
    const after = this.#text.charAt(this.#at + length);
    if (char === "~" && length !== 2) {
      this.#take(length);
      return;
    }
    // Within a word an underscore is a part of a name.
    const opens = !isSpace(after) && !(char === "_" && isWord(before));
    const closes = !isSpace(before) && !(char === "_" && isWord(after));
    const left = closes ? this.#close(char, length) : length;
    this.#at += length;
    if (left === 0 || !opens) this.#plain += char.repeat(left);
    else {
      this.#open.push(this.#begin(char, left));
      this.#openCount[char] = this.#opened(char) + 1;
    }
  }

  #begin(char: string, left: number): Opener {
    this.#flush();
    const opener = { char, left, node: this.#nodes.length };
    this.#put({ kind: "text", text: char.repeat(left) }, 0);
    return opener;
  }

  #opened(char: string): number {
    return this.#openCount[char] ?? 0;
  }

  #drop(): void {
    const opener = this.#open.pop();
    if (opener !== undefined) this.#openCount[opener.char] = this.#opened(opener.char) - 1;
  }

  /** Matches a closing run with what is open, innermost first; says how much of it is left. */
  #close(char: string, length: number): number {
    this.#flush();
    let left = length;
    while (left > 0 && this.#opened(char) > 0) {
      const opener = this.#open.at(-1);
      if (opener === undefined) break;
      if (opener.char !== char) {
        // It was opened within and not closed: it stays text.
        this.#drop();
        continue;
      }
      const used = char === "~" || (opener.left >= 2 && left >= 2) ? 2 : 1;
      if (!this.#wrap(opener.node, char === "~" ? "strike" : used === 2 ? "strong" : "emphasis")) {
        // All around it would be too deep as well.
        while (this.#open.length > 0) this.#drop();
        break;
      }
      left -= used;
      opener.left -= used;
      if (opener.left > 0) this.#nodes[opener.node] = { kind: "text", text: char.repeat(opener.left) };
      else {
        this.#nodes.splice(opener.node, 1);
        this.#depths.splice(opener.node, 1);
        this.#drop();
      }
    }
    return left;
  }

  /** Puts all that came after an opener into one node. False where it would be too deep. */
  #wrap(opener: number, kind: "strong" | "emphasis" | "strike"): boolean {
    const depth = 1 + deepest(this.#depths, opener + 1);
    if (depth > DEPTH_MAX) return false;
    const inside = this.#nodes.splice(opener + 1);
    this.#depths.splice(opener + 1);
    while ((this.#brackets.at(-1)?.node ?? -1) > opener) this.#brackets.pop();
    this.#put({ kind, inside }, 0, depth);
    return true;
  }

  #bracket(char: string): void {
    this.#brackets.push(this.#begin(char, 1));
    this.#at += char.length;
  }

  #closeBracket(): void {
    const opener = this.#brackets.pop();
    if (opener === undefined) {
      this.#take(1);
      return;
    }
    const target = this.#text.charAt(this.#at + 1) === "(" ? targetAt(this.#text, this.#at + 2) : undefined;
    if (target === undefined) {
      this.#take(1);
      return;
    }
    const address = this.#readAddress(target.address);
    // Shown as it is written: a link that leads nowhere good is no link.
    if (address === undefined) {
      this.#take(target.end - this.#at);
      return;
    }
    this.#flush();
    while ((this.#open.at(-1)?.node ?? -1) > opener.node) this.#drop();
    const inside = withoutLinks(this.#nodes.splice(opener.node).slice(1));
    const depth = 1 + deepest(this.#depths, opener.node);
    this.#depths.splice(opener.node);
    const image = opener.char === "![";
    const shown: Inline[] = inside.length > 0 ? inside : [{ kind: "text", text: address }];
    this.#put({ kind: "link", address, image, inside: shown }, target.end - this.#at, depth);
    // There is no link within a link; an image may be in one.
    if (!image) this.#brackets.length = 0;
  }

  /** `<https://…>` is a link and `<br>` a line's end; any other tag is text. */
  #angle(): void {
    const line = BREAK.exec(this.#text.slice(this.#at, this.#at + 6));
    if (line !== null) {
      this.#put({ kind: "break" }, line[0].length);
      return;
    }
    const start = this.#at + 1;
    if (!SCHEME.test(this.#text.slice(start, start + 8))) {
      this.#take(1);
      return;
    }
    const end = endOfAddress(this.#text, start);
    const address = this.#text.charAt(end) === ">" ? this.#readAddress(this.#text.slice(start, end)) : undefined;
    if (address === undefined) {
      this.#take(end - this.#at);
      return;
    }
    const text = this.#text.slice(start, end);
    this.#put({ kind: "link", address, image: false, inside: [{ kind: "text", text }] }, end + 1 - this.#at, 1);
  }

  #bareAddress(): void {
    if (!SCHEME.test(this.#text.slice(this.#at, this.#at + 8))) {
      this.#take(1);
      return;
    }
    let end = endOfAddress(this.#text, this.#at);
    // A sentence's own punctuation is not the address's.
    while (end > this.#at && ".,;:!?'\"*_~)]}".includes(this.#text.charAt(end - 1))) end -= 1;
    const text = this.#text.slice(this.#at, end);
    const address = this.#readAddress(text);
    if (address === undefined) {
      this.#take(Math.max(1, end - this.#at));
      return;
    }
    this.#put({ kind: "link", address, image: false, inside: [{ kind: "text", text }] }, end - this.#at, 1);
  }

  #entity(): void {
    const [all = "", name = ""] = /^&(#?\w{2,4});/.exec(this.#text.slice(this.#at, this.#at + 8)) ?? [];
    const char = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined;
    if (char === undefined) {
      this.#take(1);
      return;
    }
    this.#plain += char;
    this.#at += all.length;
  }
}

function tickRuns(text: string): Map<number, number[]> {
  const runs = new Map<number, number[]>();
  const ends: [number, number][] = [];
  for (let at = text.indexOf("`"); at !== -1; ) {
    const length = runAt(text, at);
    ends.push([length, at]);
    at = text.indexOf("`", at + length);
  }
  for (const [length, at] of ends.reverse()) {
    const known = runs.get(length);
    if (known === undefined) runs.set(length, [at]);
    else known.push(at);
  }
  return runs;
}

/** `address "title")` behind the parenthesis. A scan begins at a `](`, which holds one more parenthesis: so few overlap. */
function targetAt(text: string, from: number): { address: string; end: number } | undefined {
  let open = 0;
  let at = from;
  for (; at < text.length && at - from < ADDRESS_CHARS_MAX; at += 1) {
    const char = text.charAt(at);
    if (char === "(") {
      open += 1;
      if (open > PARENTHESES_MAX) return undefined;
    } else if (char === ")") {
      if (open === 0) return { address: text.slice(from, at), end: at + 1 };
      open -= 1;
    } else if (char === " ") {
      const end = endOfTitle(text, at + 1);
      return end === undefined ? undefined : { address: text.slice(from, at), end };
    } else if (char === "\n" || char === "<") return undefined;
  }
  return undefined;
}

/** A title is not shown: what counts is where it ends. */
const TITLE_CHARS_MAX = 200;
function endOfTitle(text: string, from: number): number | undefined {
  const [title] = /^"[^"\n]*" *\)/.exec(text.slice(from, from + TITLE_CHARS_MAX)) ?? [];
  return title === undefined ? undefined : from + title.length;
}

function endOfAddress(text: string, from: number): number {
  let end = from;
  const isPart = (char: string): boolean => !isSpace(char) && !'<>[]"`|'.includes(char);
  while (end - from < ADDRESS_CHARS_MAX && isPart(text.charAt(end))) end += 1;
  return end;
}

const withoutLinks = (nodes: Inline[]): Inline[] =>
  nodes.flatMap((node): Inline[] => {
    if (node.kind === "link") return node.inside;
    return "inside" in node ? [{ ...node, inside: withoutLinks(node.inside) }] : [node];
  });

function deepest(depths: number[], from: number): number {
  let most = 0;
  for (let at = from; at < depths.length; at += 1) most = Math.max(most, depths[at] ?? 0);
  return most;
}

function runAt(text: string, from: number): number {
  const char = text.charAt(from);
  let to = from;
  while (to < text.length && text.charAt(to) === char) to += 1;
  return to - from;
}

const isSpace = (char: string): boolean => char === "" || char.trim() === "";
const isWord = (char: string): boolean => char !== "" && /[\p{L}\p{N}]/u.test(char);
