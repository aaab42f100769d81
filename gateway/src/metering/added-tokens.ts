/** Finds special tokens such as `<|im_start|>` in text. If several start at one position, the longest is used. */
import { invariant } from "../base/invariant.ts";

interface Node {
  next: Map<number, Node>;
  isToken: boolean;
}

export interface AddedTokens {
  root: Node;
}

const OPENING = "<";

export function indexAddedTokens(tokens: readonly string[]): AddedTokens {
  const root: Node = { next: new Map(), isToken: false };
  for (const token of tokens) {
    invariant(token.startsWith(OPENING), `special token ${token} does not start with ${OPENING}`);
    let node = root;
    for (let i = 1; i < token.length; i++) {
      const unit = token.charCodeAt(i);
      const child = node.next.get(unit) ?? { next: new Map(), isToken: false };
      node.next.set(unit, child);
      node = child;
    }
    node.isToken = true;
  }
  return { root };
}

/** Returns the first special token at or after `from`. */
export function findAddedToken(
  { root }: AddedTokens,
  text: string,
  from: number,
): { at: number; end: number } | undefined {
  for (let at = text.indexOf(OPENING, from); at >= 0; at = text.indexOf(OPENING, at + 1)) {
    let end = -1;
    let node: Node | undefined = root;
    for (let i = at + 1; node !== undefined; i++) {
      if (node.isToken) end = i;
      node = node.next.get(text.charCodeAt(i));
    }
    if (end >= 0) return { at, end };
  }
  return undefined;
}
