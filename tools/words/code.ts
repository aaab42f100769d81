/** What of a source file a reader meets first: the titles of its tests, its comments and the names that it exports. Pure. */
import assert from "node:assert/strict";
import { parseSync } from "vite";

interface SyntaxNode {
  type: string;
  start: number;
  [part: string]: unknown;
}

export interface CodeText {
  line: number;
  text: string;
}

interface Code {
  titles: CodeText[];
  comments: CodeText[];
  names: CodeText[];
}

/** In place of what a loop fills into a title. */
export const FILLED_IN = "{…}";
const TESTS = /^(test|it|describe|suite)$/;
/** Comments that tools read. */
const DIRECTIVE = /^(biome-ignore|@ts-|eslint|@vite|prettier|#__|v8 |c8 |\/ <reference)/;

export function readCode(file: string, source: string): Code {
  const { program, comments, errors } = parseSync(file, source);
  assert.deepEqual(errors, [], file);
  const lineStarts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineOf = (offset: number): number => lineStarts.findLastIndex((start) => start <= offset) + 1;
  const titles = [...titlesOf(program as unknown as SyntaxNode)];
  const names = (program.body as unknown as SyntaxNode[]).flatMap(namesOf);
  const at = ({ start, text }: { start: number; text: string }): CodeText => ({ line: lineOf(start), text });
  return {
    titles: titles.map(at),
    names: names.map(at),
    comments: joined(comments.map(({ start, end, value }) => ({ line: lineOf(start), end: lineOf(end), text: value }))),
  };
}

interface Span extends CodeText {
  end: number;
}

/** Line comments below each other are one comment. */
function joined(comments: Span[]): CodeText[] {
  const blocks: Span[] = [];
  for (const { line, end, text } of comments) {
    const plain = text
      .split("\n")
      .map((part) => part.replace(/^\s*\*+ ?/, "").trim())
      .join(" ")
      .trim();
    const last = blocks.at(-1);
    if (plain === "" || DIRECTIVE.test(plain)) continue;
    if (last !== undefined && last.end === line - 1)
      blocks[blocks.length - 1] = { line: last.line, end, text: `${last.text} ${plain}` };
    else blocks.push({ line, end, text: plain });
  }
  return blocks.map(({ line, text }) => ({ line, text: text.replaceAll(/\s+/g, " ") }));
}

interface Found {
  start: number;
  text: string;
}

function* titlesOf(node: SyntaxNode): Generator<Found> {
  const title = node.type === "CallExpression" && isTest(node.callee as SyntaxNode) ? titleOf(node) : undefined;
  if (title !== undefined) yield { start: node.start, text: title };
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) if (isNode(each)) yield* titlesOf(each);
  }
}

/** `test(…)`, `test.skip(…)` and `t.test(…)`. */
function isTest({ name, object, property }: SyntaxNode): boolean {
  if (typeof name === "string") return TESTS.test(name);
  const [of, called] = [object as SyntaxNode | undefined, property as SyntaxNode | undefined].map((part) =>
    String(part?.name),
  );
  return (TESTS.test(of as string) && /^(skip|only|todo)$/.test(called as string)) || (of === "t" && called === "test");
}

function titleOf(call: SyntaxNode): string | undefined {
  const [title] = call.arguments as SyntaxNode[];
  if (title?.type === "Literal" && typeof title.value === "string") return title.value;
  if (title?.type !== "TemplateLiteral") return;
  return (title.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join(FILLED_IN);
}

/** Functions, classes, types and constants that a statement of the file declares and exports. */
function namesOf(statement: SyntaxNode): Found[] {
  if (statement.type !== "ExportNamedDeclaration" || !isNode(statement.declaration)) return [];
  const { start, id, declarations } = statement.declaration;
  const ids = declarations === undefined ? [id] : (declarations as SyntaxNode[]).map((each) => each.id);
  return (ids as SyntaxNode[]).flatMap(({ name }) => (typeof name === "string" ? [{ start, text: name }] : []));
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as SyntaxNode).type === "string";
