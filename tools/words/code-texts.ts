/**
 * Reads the parts of a source file that a newcomer reads first: titles of tests, comments and exported names. Pure
 * functions.
 */
import assert from "node:assert/strict";
import { parseSync } from "vite";

interface SyntaxNode {
  type: string;
  start: number;
  [part: string]: unknown;
}

interface CodeText {
  line: number;
  text: string;
}

/** A test's title with the titles of the suites around it. `isSuite`: whether the title itself is that of a suite. */
interface Title extends CodeText {
  suites: string[];
  isSuite: boolean;
}

/** A text with the line of code that is shown to the reader beside it. */
interface TextWithCode extends CodeText {
  code: string;
}

interface Code {
  titles: Title[];
  comments: TextWithCode[];
  names: TextWithCode[];
}

/** Replaces a value that a loop inserts into a title. */
export const FILLED_IN_PLACEHOLDER = "{…}";
const SUITES = /^(describe|suite)$/;
const TESTS = /^(test|it|describe|suite)$/;
/** Matches comments for tools, which readers need not understand. */
const DIRECTIVE = /^(biome-ignore|@ts-|eslint|@vite|prettier|#__|v8 |c8 |\/ <reference)/;

export function readCodeTexts(file: string, source: string): Code {
  const { program, comments, errors } = parseSync(file, source);
  assert.deepEqual(errors, [], file);
  const lineStarts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineOf = (offset: number): number => lineStarts.findLastIndex((start) => start <= offset) + 1;
  const names = (program.body as unknown as SyntaxNode[]).flatMap(namesOf);
  const lines = source.split("\n").map((line) => line.trim());
  return {
    titles: [...titlesOf(program as unknown as SyntaxNode)].map(({ start, ...title }) => ({
      line: lineOf(start),
      ...title,
    })),
    names: names.map(({ start, text }) => ({ line: lineOf(start), text, code: lines[lineOf(start) - 1] as string })),
    comments: joined(
      comments.map(({ type, start, end, value: text }) => {
        const isAlone = source.slice(lineStarts[lineOf(start) - 1], start).trim() === "";
        return { line: lineOf(start), end: lineOf(end), text, joins: type === "Line" && isAlone };
      }),
    ).map(({ line, end, text }) => ({ line, text, code: codeBeside(lines, line, end) })),
  };
}

interface Span extends CodeText {
  end: number;
  /** Whether the comment is a `//` comment without code before it, which may continue on the next line. */
  joins: boolean;
}

/** Joins line comments on consecutive lines into one comment. */
function joined(comments: Span[]): Span[] {
  const blocks: Span[] = [];
  for (const comment of comments) {
    const text = comment.text
      .replaceAll(/(^|\n)\s*\*+/g, " ")
      .replaceAll(/\s+/g, " ")
      .trim();
    const last = blocks.at(-1);
    if (text === "" || DIRECTIVE.test(text)) continue;
    if (comment.joins && last?.joins && last.end === comment.line - 1)
      blocks[blocks.length - 1] = { ...last, end: comment.end, text: `${last.text} ${text}` };
    else blocks.push({ ...comment, text });
  }
  return blocks;
}

/** Returns the code before a comment on its own line, or else the first line of code below the comment. */
function codeBeside(lines: string[], line: number, end: number): string {
  const before = (lines[line - 1] as string).split(/\s*(?:\/\/|\/\*)/)[0] as string;
  return before || (lines.slice(end).find((below) => below !== "" && !/^(\/\/|\/?\*)/.test(below)) ?? "");
}

interface Found {
  start: number;
  text: string;
}

function* titlesOf(node: SyntaxNode, suites: string[] = []): Generator<Found & { suites: string[]; isSuite: boolean }> {
  const title = node.type === "CallExpression" && isTest(node.callee as SyntaxNode) ? titleOf(node) : undefined;
  if (title !== undefined)
    yield { start: node.start, text: title, suites, isSuite: isSuite(node.callee as SyntaxNode) };
  const within = title === undefined ? suites : [...suites, title];
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) if (isNode(each)) yield* titlesOf(each, within);
  }
}

/** Recognises `test(…)`, `test.skip(…)` and `t.test(…)`. */
function isTest({ name, object, property }: SyntaxNode): boolean {
  if (typeof name === "string") return TESTS.test(name);
  const [of, called] = [object as SyntaxNode | undefined, property as SyntaxNode | undefined].map((part) =>
    String(part?.name),
  );
  return (TESTS.test(of as string) && /^(skip|only|todo)$/.test(called as string)) || (of === "t" && called === "test");
}

const isSuite = ({ name, object }: SyntaxNode): boolean =>
  SUITES.test(String(name ?? (object as SyntaxNode | undefined)?.name));

function titleOf(call: SyntaxNode): string | undefined {
  const [title] = call.arguments as SyntaxNode[];
  if (title?.type === "Literal" && typeof title.value === "string") return title.value;
  if (title?.type !== "TemplateLiteral") return;
  return (title.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join(FILLED_IN_PLACEHOLDER);
}

/** Returns the functions, classes, types and constants that a statement declares and exports. */
function namesOf(statement: SyntaxNode): Found[] {
  if (statement.type !== "ExportNamedDeclaration" || !isNode(statement.declaration)) return [];
  const { start, id, declarations } = statement.declaration;
  const ids = declarations === undefined ? [id] : (declarations as SyntaxNode[]).map((each) => each.id);
  return (ids as SyntaxNode[]).flatMap(({ name }) => (typeof name === "string" ? [{ start, text: name }] : []));
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as SyntaxNode).type === "string";
