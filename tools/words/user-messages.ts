/**
 * Reads the texts that a source file shows to users: errors, log lines, output of commands, emails, help and the
 * console's sentences. Inserted values appear as {…}. Left out are names, queries, class names, compared values and
 * failed assertions. Pure functions.
 */
import assert from "node:assert/strict";
import { parseSync } from "vite";

interface SyntaxNode {
  type: string;
  [part: string]: unknown;
}

const WORDS_MIN = 4;
const FILLED_IN = "{…}";
/** Types and imports, which contain strings that users never see. */
const UNSEEN = /^(Import|Export(?!Named|Default)|TS(?!AsExpression|SatisfiesExpression|NonNullExpression))/;
const UNSEEN_ATTRIBUTES = new Set(["className", "class", "style", "d", "id", "href", "to", "autoComplete", "viewBox"]);
/** Calls whose texts are not messages: assertions, queries, patterns, the API reference. */
const UNSEEN_CALLS = /^(invariant|assert|query|clsx|cx|RegExp|describe)$/;
/**
 * Properties whose text is shown after the name of a field, flag or setting, and the words between the name and the
 * text.
 */
const LABELS: Record<string, string> = { help: ": ", rule: " must " };
/** Properties whose texts are not messages: examples of the API, CSS classes, and what applies without a setting. */
const UNSEEN_KEYS = new Set(["example", "className", "without"]);
const PLAIN_WORD = /^["'(“]*\p{L}+(['’]\p{L}+)?[.,:;!?)"”]*$/u;
/** Matches queries, code, markup, and fragments of sentences. */
const NO_MESSAGE =
  /^(select|insert|update|delete from|with|create|alter|drop|begin|local)\b.*\b(from|into|set|as|then)\b|\bas "|^create table|^local function|\bat time zone\b|^\w+(, \w+)+$|\bjoin\b.*\bon\b|\bis null\b|\bselect\b.*\bfrom\b|\$\d|::|;\s*charset|[;{}=)\]] *[;{}(]|=>|<\/?[a-z]|^([,;.)#]|(… )?(and|be|did|for|has|in|is|it|its|of|or|signs?|so|stopped) )|\b(for|of|to|from|with|by|at|the|an?|and|or)$/;
/** Elements inside a sentence; the text of any other element counts separately. */
const WITHIN_SENTENCES = /^(a|b|em|strong|code|i|time|span|kbd|Link|\w*(Link|Code|Time|Amount|Money|Number|Mono))$/;

/** Removes the spaces that elements within a sentence leave around them. */
const tidy = (text: string): string => text.replaceAll(/\s+/g, " ").replaceAll(/([(“]) | ([.,;:)”])/g, "$1$2");

export function listMessages(file: string, source: string): string[] {
  const { program, errors } = parseSync(file, source);
  assert.deepEqual(errors, [], file);
  return [...textsOf(program as unknown as SyntaxNode)].map((text) => tidy(text.trim())).filter(isMessage);
}

/**
 * Yields the texts of a part of the program. Joined strings count as one text, and so do the parts of a sentence in
 * JSX. `name`: the field, flag or setting that the text describes.
 */
function* textsOf(node: SyntaxNode, name = ""): Generator<string> {
  if (UNSEEN.test(node.type) || isUnseenCall(node) || isUnseenAttribute(node) || isComparison(node)) return;
  const own = stringOf(node);
  if (own !== undefined) yield own.replace(/^must\b/, `${FILLED_IN} must`);
  else if (node.type === "JSXElement" || node.type === "JSXFragment") yield* jsxTexts(node);
  if (node.type === "Literal" || node.type === "JSXText") return;
  if (node.type === "Property") {
    const [key, value] = [keyOf(node), node.value as SyntaxNode];
    if (UNSEEN_KEYS.has(key)) return;
    yield* LABELS[key] === undefined ? textsOf(value, key) : labelled(value, name, LABELS[key]);
    return;
  }
  const isJoined = own !== undefined && node.type === "BinaryExpression";
  for (const [part, value] of Object.entries(node)) {
    if (node.type === "MemberExpression" && part === "property") continue;
    for (const each of Array.isArray(value) ? value : [value]) {
      if (!isNode(each) || (isJoined && stringOf(each) !== undefined)) continue;
      yield* textsOf(each, name);
    }
  }
}

/** Puts the name before the text, as help and errors show it. */
function* labelled(node: SyntaxNode, name: string, between: string): Generator<string> {
  for (const text of textsOf(node, name)) yield name === "" ? text : `${name}${between}${text}`;
}

/** Returns the text of a string, a template, or strings joined by `+`. */
function stringOf(node: SyntaxNode): string | undefined {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : undefined;
  if (node.type === "TemplateLiteral") {
    const quasis = node.quasis as { value: { cooked: string } }[];
    return quasis.map(({ value }) => value.cooked).join(FILLED_IN);
  }
  if (node.type !== "BinaryExpression" || node.operator !== "+") return;
  const [left, right] = [stringOf(node.left as SyntaxNode), stringOf(node.right as SyntaxNode)];
  if (left === undefined && right === undefined) return;
  return `${left ?? FILLED_IN}${right ?? FILLED_IN}`;
}

/** Returns the texts of an element's children; elements such as links belong to the sentence around them. */
function jsxTexts(node: SyntaxNode): string[] {
  const texts = [""];
  const add = (text: string): void => void texts.push(`${texts.pop()}${text}`);
  for (const child of node.children as SyntaxNode[]) {
    const expression = child.type === "JSXExpressionContainer" ? (child.expression as SyntaxNode) : undefined;
    if (child.type === "JSXText") add(child.value as string);
    else if (expression !== undefined)
      add(expression.type === "JSXEmptyExpression" ? "" : (literalOf(expression) ?? FILLED_IN));
    else if (child.type === "JSXElement" && WITHIN_SENTENCES.test(nameOf(child)))
      add(jsxTexts(child).join(" ") || FILLED_IN);
    else texts.push("");
  }
  return texts;
}

const literalOf = (node: SyntaxNode): string | undefined => (node.type === "Literal" ? stringOf(node) : undefined);

const nameOf = (element: SyntaxNode): string => {
  const { name } = element.openingElement as { name: SyntaxNode };
  return String(name.name ?? "");
};

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as SyntaxNode).type === "string";

function isUnseenCall({ type, callee }: SyntaxNode): boolean {
  if (type !== "CallExpression" && type !== "NewExpression") return false;
  const { name, property } = callee as { name?: string; property?: { name?: string } };
  return UNSEEN_CALLS.test(name ?? property?.name ?? "");
}

const keyOf = ({ key }: SyntaxNode): string => String((key as SyntaxNode).name ?? (key as SyntaxNode).value);

const isUnseenAttribute = ({ type, name }: SyntaxNode): boolean =>
  type === "JSXAttribute" && UNSEEN_ATTRIBUTES.has(String((name as SyntaxNode).name));

const isComparison = ({ type, operator }: SyntaxNode): boolean =>
  type === "BinaryExpression" && /^[!=]==$/.test(String(operator));

/** Returns whether a text is a message, which has several plain words; queries, class names and headers have few. */
function isMessage(text: string): boolean {
  const parts = text.split(" ");
  const words = parts.filter((part) => PLAIN_WORD.test(part)).length;
  return words >= WORDS_MIN && words > parts.length / 2 && !NO_MESSAGE.test(text.replaceAll(FILLED_IN, "…"));
}
