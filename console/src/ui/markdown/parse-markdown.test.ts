import assert from "node:assert/strict";
import { test } from "node:test";
import { countStringAndArraySteps } from "../../testing/count-string-and-array-steps.ts";
import { type Block, type Inline, MARKDOWN_DEPTH_MAX, markdownReader } from "./parse-markdown.ts";

const reader = markdownReader();

/** A short notation of the parsed tree: the kind of each node, and its content. */
const inlineShown = (nodes: Inline[]): string =>
  nodes
    .map((node) => {
      if (node.kind === "text") return node.text;
      if (node.kind === "break") return "⏎";
      if (node.kind === "code") return `‹${node.text}›`;
      const inside = inlineShown(node.inside);
      return node.kind === "link"
        ? `${node.image ? "image" : "link"}(${node.address} ${inside})`
        : `${node.kind}(${inside})`;
    })
    .join("");

function blockShown(block: Block): string {
  const words = (all: { nodes: Inline[] }[]): string => all.map(({ nodes }) => inlineShown(nodes)).join(" ¦ ");
  switch (block.kind) {
    case "code":
      return `code ${block.language}: ${block.text}`;
    case "heading":
      return `h${block.level} ${words([block.words])}`;
    case "paragraph":
      return words([block.words]);
    case "quote":
      return `quote(${blocksShown(block.blocks)})`;
    case "list":
      return `list ${block.start ?? "-"}(${block.items.map(blocksShown).join(" + ")})`;
    case "table":
      return `table ${block.columns}(${[block.head, ...block.rows].map(words).join(" + ")})`;
    case "rule":
      return "rule";
  }
}
const blocksShown = (blocks: Block[]): string => blocks.map(blockShown).join(" / ");
const read = (text: string): string => blocksShown(reader.read(text));

test("parses headings, paragraphs, rules and quotes", () => {
  assert.equal(
    read("# One #\ntext\nmore\n\n---\n> said\n> > again\n\n####### no heading"),
    "h1 One / text⏎more / rule / quote(said / quote(again)) / ####### no heading",
  );
  assert.equal(read("text\n---\nmore"), "text / rule / more", "a line below a paragraph does not make it a heading");
});

test("keeps code unchanged and names its language", () => {
  assert.equal(
    read("Look:\n```ts title=x\nif (a) {\n  b();\n\n}\n```\nafter"),
    "Look: / code ts: if (a) {\n  b();\n\n} / after",
  );
  assert.equal(read("````\n```\n````"), "code : ```");
  assert.equal(read("```py\nprint(1)\n# not a heading"), "code py: print(1)\n# not a heading", "while it is written");
  assert.equal(read("``` `x` ```"), "‹`x`›");
  assert.equal(read("a\n\n    indented"), "a / indented", "indentation alone is not code");
});

test("parses lists: their numbers, their items, and where they end", () => {
  assert.equal(
    read("- one\n- two\n  - two a\n\n  more of two\n- three\n\nafter"),
    "list -(one + two / list -(two a) / more of two + three) / after",
  );
  assert.equal(read("3. three\n   ```\n   code\n   ```\n\n4. four"), "list 3(three / code : code + four)");
  assert.equal(read("- a\n* b\n1. c\n2) d"), "list -(a) / list -(b) / list 1(c) / list 2(d)");
  assert.equal(read("-no item\n1.no item\n2024 was a year."), "-no item⏎1.no item⏎2024 was a year.");
  assert.equal(read("- a\n- b\n\n---\n"), "list -(a + b) / rule");
});

test("parses tables", () => {
  assert.equal(
    read("Prices:\n| a | b |\n|:--|--:|\n| 1 | x \\| y<br>z |\n| 2 |\n\nafter"),
    "Prices: / table left,right(a ¦ b + 1 ¦ x | y⏎z + 2 ¦ ) / after",
  );
  assert.equal(read("| a | b |"), "| a | b |");
  assert.equal(read("| a | b |\n|--|\n| 1 | 2 |"), "| a | b |⏎|--|⏎| 1 | 2 |");
});

test("parses emphasis", () => {
  assert.equal(
    read("a **b** *c* _d_ ~~e~~ ***f***"),
    "a strong(b) emphasis(c) emphasis(d) strike(e) emphasis(strong(f))",
  );
  assert.equal(read("**a *b* c**"), "strong(a emphasis(b) c)");
  assert.equal(
    read("2 * 3 * 4, snake_case_name, ~one~, *open, closed*?"),
    "2 * 3 * 4, snake_case_name, ~one~, emphasis(open, closed)?",
  );
  assert.equal(read("**interval [0, 1)** and *never"), "strong(interval [0, 1)) and *never");
  assert.equal(read("**half"), "**half");
});

test("keeps inline code unchanged", () => {
  assert.equal(read("`a*b*` ``x ` y`` `**`"), "‹a*b*› ‹x ` y› ‹**›");
  assert.equal(read("`open *b*"), "`open emphasis(b)");
});

test("allows links only to web and email addresses", () => {
  assert.equal(read('[a *b*](https://example.com/x_(y) "t")'), "link(https://example.com/x_(y) a emphasis(b))");
  assert.equal(
    read("<mailto:a@example.com> https://example.com/a."),
    "link(mailto:a@example.com mailto:a@example.com) link(https://example.com/a https://example.com/a).",
  );
  assert.equal(read("[https://example.com](https://example.com)"), "link(https://example.com/ https://example.com)");
  assert.equal(read("![a cat](https://example.com/cat.png)"), "image(https://example.com/cat.png a cat)");
  assert.equal(read("[![b](https://e.com/b.png)](https://e.com/)"), "link(https://e.com/ b)", "no link within a link");
  assert.equal(read("[](https://e.com/)"), "link(https://e.com/ https://e.com/)");
  for (const address of [
    "javascript:alert(1)",
    " JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "javascript&colon;alert(1)",
    "&#x6A;avascript:alert(1)",
    "<javascript:alert(1)>",
    "data:text/html,<script>alert(1)</script>",
    "data:image/png;base64,AAAA",
    "vbscript:x",
    "file:///etc/passwd",
    "//example.com",
    "/console/api/auth/sign-out",
    "ftp://example.com",
    "blob:x",
    "",
  ]) {
    const text = `[x](${address}) ![x](${address}) <${address}> ${address} [x][r]\n\n[r]: ${address}`;
    assert.ok(!JSON.stringify(reader.read(text)).includes('"link"'), address);
  }
});

test("shows an unsafe address as text", () => {
  assert.equal(read("[run](javascript:alert(3))"), "[run](javascript:alert(3))");
  assert.equal(read("https://xn--80ak6aa92e.com/"), "link(https://xn--80ak6aa92e.com/ https://xn--80ak6aa92e.com/)");
});

test("shows HTML tags as text and keeps line breaks", () => {
  assert.equal(read("<script>alert(1)</script> <b>x</b><br>y\nz"), "<script>alert(1)</script> <b>x</b>⏎y⏎z");
  assert.equal(read("<div onclick=x>\n\n<img src=x onerror=y>"), "<div onclick=x> / <img src=x onerror=y>");
  assert.equal(read("&lt;b&gt; &amp;amp; &constructor; &copy; \\*no\\*"), "<b> &amp; &constructor; © *no*");
});

test("resolves link addresses with the function that the caller passes", () => {
  const own = markdownReader((address) => (address === "gone" ? undefined : `/in/${address}`));
  assert.equal(blocksShown(own.read("[a](b.md) [c](gone)")), "link(/in/b.md a) [c](gone)");
});

/** The number of nodes, and their maximum depth. */
function sizeOf(value: unknown): { parts: number; depth: number } {
  const sum = { parts: 0, depth: 0 };
  const add = (inner: unknown, own: number): void => {
    const { parts, depth } = sizeOf(inner);
    sum.parts += parts + own;
    sum.depth = Math.max(sum.depth, depth + own);
  };
  if (Array.isArray(value)) for (const one of value) add(one, 0);
  else if (typeof value === "object" && value !== null) for (const one of Object.values(value)) add(one, 0);
  if (typeof value === "object" && value !== null && "kind" in value) {
    sum.parts += 1;
    sum.depth += 1;
  }
  return sum;
}

const hostileTexts = (size: number): Record<string, string> => {
  return {
    backticks: "`".repeat(size),
    "backticks of all lengths": Array.from({ length: 620 }, (_, i) => "`".repeat(i + 1)).join(" "),
    "open brackets": "[".repeat(size),
    "close brackets": "]".repeat(size),
    "brackets and parentheses": "[](".repeat(size / 3),
    "half links": "[a](b ".repeat(size / 6),
    "links within links": `${"[".repeat(size / 8)}a${"](http://x)".repeat(size / 16)}`,
    "images within images": `${"![".repeat(size / 16)}a${"](http://x)".repeat(size / 16)}`,
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
};

test("parses hostile texts completely, with limited depth and number of nodes", () => {
  for (const [name, text] of Object.entries(hostileTexts(50_000))) {
    const { parts, depth } = sizeOf(reader.read(text));
    assert.ok(parts <= 3 * text.length + 10, `${name}: ${parts} parts`);
    assert.ok(depth <= MARKDOWN_DEPTH_MAX, `${name}: ${depth} levels`);
  }
});

/**
 * Hostile texts for which markdown-it scans the rest of the text again and again. They may take more steps, because
 * the scans use built-in methods that take almost no time.
 */
const LOOKED_AT_AGAIN = [
  ...["links within links", "images within images", "a wide table"],
  ...["angles", "addresses", "entities"],
];

test("parses hostile texts in linear time", () => {
  const [short, long] = [hostileTexts(10_000), hostileTexts(40_000)];
  for (const [name, text] of Object.entries(long)) {
    const perCharacter = (given = ""): number => countStringAndArraySteps(() => void reader.read(given)) / given.length;
    const growth = perCharacter(text) / perCharacter(short[name]);
    const most = LOOKED_AT_AGAIN.includes(name) ? 4 : 1.01;
    assert.ok(growth <= most, `${name}: ${growth} times the steps a character for four times the length`);
  }
});

test("shows nesting beyond the limit as text", () => {
  assert.match(read(`${">".repeat(40)} deep`), /\(>{24} deep\)+$/);
  assert.ok(read(`${"- ".repeat(30)}deep`).includes("- - deep"));
});
