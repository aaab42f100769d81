import assert from "node:assert/strict";
import { test } from "node:test";
import { stepsOf } from "../../testing/steps.ts";
import { type Block, blocksOf, DEPTH_MAX } from "./blocks.ts";
import { type Inline, inlineOf } from "./inline.ts";

/** About four times what the worst text takes. What grows with the square takes thousands. */
const STEPS_A_CHARACTER_MAX = 400;

const read = (text: string): Block[] => blocksOf(text).map(({ block }) => block);
const kinds = (text: string): string[] => read(text).map(({ kind }) => kind);

/** As it is drawn: every level read, every line's parts too. Says how many parts there are and how deep they go. */
function draw(text: string, depth = 0): { parts: number; depth: number } {
  const sum = { parts: 0, depth };
  const add = (one: { parts: number; depth: number }): void => {
    sum.parts += 1 + one.parts;
    sum.depth = Math.max(sum.depth, one.depth);
  };
  const words = (line: string): void => add(inside(inlineOf(line), depth));
  for (const { block } of blocksOf(text, depth)) {
    if (block.kind === "quote") add(draw(block.text, depth + 1));
    else if (block.kind === "list") for (const item of block.items) add(draw(item, depth + 1));
    else if (block.kind === "table") for (const row of [block.head, ...block.rows]) row.forEach(words);
    else if (block.kind === "heading" || block.kind === "paragraph") words(block.text);
    else sum.parts += 1;
  }
  return sum;
}
function inside(nodes: Inline[], depth: number): { parts: number; depth: number } {
  const sum = { parts: nodes.length, depth };
  for (const node of nodes) {
    const inner = "inside" in node ? inside(node.inside, depth + 1) : { parts: 0, depth };
    sum.parts += inner.parts;
    sum.depth = Math.max(sum.depth, inner.depth);
  }
  return sum;
}

test("headings, paragraphs, rules and quotes", () => {
  assert.deepEqual(read("# One #\ntext\nmore\n\n---\n> said\n> > again\n####### no heading"), [
    { kind: "heading", level: 1, text: "One" },
    { kind: "paragraph", text: "text\nmore" },
    { kind: "rule" },
    { kind: "quote", text: "said\n> again" },
    { kind: "paragraph", text: "####### no heading" },
  ]);
});

test("code keeps its text and names its language; without an end it goes on to the end", () => {
  assert.deepEqual(read("Look:\n```ts title=x\nif (a) {\n  b();\n\n}\n```\nafter"), [
    { kind: "paragraph", text: "Look:" },
    { kind: "code", language: "ts", text: "if (a) {\n  b();\n\n}" },
    { kind: "paragraph", text: "after" },
  ]);
  assert.deepEqual(read("````\n```\n````"), [{ kind: "code", language: "", text: "```" }]);
  assert.deepEqual(read("```py\nprint(1)\n# not a heading"), [
    { kind: "code", language: "py", text: "print(1)\n# not a heading" },
  ]);
  assert.deepEqual(kinds("``` `x` ```"), ["paragraph"]);
});

test("lists, their numbers, what is within them, and where they end", () => {
  assert.deepEqual(read("- one\n- two\n  - two a\n\n  more of two\n- three\n\nafter"), [
    { kind: "list", start: undefined, items: ["one", "two\n- two a\n\nmore of two", "three"] },
    { kind: "paragraph", text: "after" },
  ]);
  assert.deepEqual(read("3. three\n   ```\n   code\n   ```\n\n4. four"), [
    { kind: "list", start: 3, items: ["three\n```\ncode\n```", "four"] },
  ]);
  assert.deepEqual(kinds("- a\n* b\n1. c\n2) d"), ["list", "list", "list", "list"]);
  assert.deepEqual(kinds("-no item\n1.no item\n2024 was a year."), ["paragraph"]);
  assert.deepEqual(read("- a\n- b\n\n---\n"), [
    { kind: "list", start: undefined, items: ["a", "b"] },
    { kind: "rule" },
  ]);
});

test("tables, whole and half", () => {
  assert.deepEqual(read("Prices:\n| a | b |\n|:--|--:|\n| 1 | x \\| y |\n| 2 |\nafter"), [
    { kind: "paragraph", text: "Prices:" },
    { kind: "table", columns: ["left", "right"], head: ["a", "b"], rows: [["1", "x | y"], ["2"]] },
    { kind: "paragraph", text: "after" },
  ]);
  assert.deepEqual(kinds("| a | b |"), ["paragraph"]);
  assert.deepEqual(kinds("| a | b |\n|--"), ["table"], "while it is written");
  assert.deepEqual(kinds("| a | b |\n|--|\n| 1 | 2 |"), ["paragraph"]);
});

test("reads any text in a number of steps that grows with its length, and no deeper than can be drawn", () => {
  const size = 50_000;
  const hostile: Record<string, string> = {
    backticks: "`".repeat(size),
    "backticks of all lengths": Array.from({ length: 620 }, (_, i) => "`".repeat(i + 1)).join(" "),
    "open brackets": "[".repeat(size),
    "close brackets": "]".repeat(size),
    "brackets and parentheses": "[](".repeat(size / 3),
    "half links": "[a](b ".repeat(size / 6),
    "links within links": `${"[".repeat(size / 8)}a${"](http://x)".repeat(size / 16)}`,
    "images that never end": "![".repeat(size / 2),
    "stars and brackets": "*a [ [x](http://y) ".repeat(size / 19),
    stars: "*".repeat(size),
    "open emphasis": "*a ".repeat(size / 3),
    "closed emphasis": "*a ".repeat(size / 6) + "a* ".repeat(size / 6),
    "mixed emphasis": "*_a ".repeat(size / 8) + "a_* ".repeat(size / 8),
    "nested strong": `${"**a ".repeat(size / 8)}${"a** ".repeat(size / 8)}`,
    "nested lists": Array.from({ length: 600 }, (_, i) => `${" ".repeat(2 * i)}- a`)
      .join("\n")
      .slice(0, size),
    "lists on one line": "- ".repeat(size / 2),
    "numbers on one line": "1. ".repeat(size / 3),
    quotes: ">".repeat(size),
    "quotes, line by line": ">\n".repeat(size / 2),
    fences: "```\n".repeat(size / 4),
    "a wide table": `${"|a".repeat(size / 4)}\n${"|-".repeat(size / 4)}`,
    "a long table": `|a|b|\n|-|-|\n${"|\n".repeat(size / 2)}`,
    "tables that are none": "|a\n".repeat(size / 3),
    "rules of tables": "|-\n".repeat(size / 3),
    spaces: " ".repeat(size),
    "blank lines in a list": `- a${"\n".repeat(size)}b`,
    angles: "<http://".repeat(size / 8),
    addresses: "http://)".repeat(size / 8),
    "one address": `http://${"x".repeat(size)}`,
    titles: '[a](b "'.repeat(size / 7),
    entities: "&amp".repeat(size / 4),
    escapes: "\\".repeat(size),
    hashes: "#".repeat(size),
    tabs: "\t".repeat(size),
  };
  for (const [name, text] of Object.entries(hostile)) {
    let drawn = { parts: 0, depth: 0 };
    const steps = stepsOf(() => {
      drawn = draw(text);
    });
    assert.ok(drawn.parts <= 3 * text.length + 10, `${name}: ${drawn.parts} parts`);
    assert.ok(drawn.depth <= DEPTH_MAX + 20, `${name}: ${drawn.depth} levels`);
    assert.ok(steps <= STEPS_A_CHARACTER_MAX * text.length, `${name}: ${steps} steps for ${text.length} characters`);
  }
});
