import assert from "node:assert/strict";
import { test } from "node:test";
import { type Inline, inlineOf } from "./inline.ts";

/** Short to read: what each part is, and what is in it. */
const shown = (nodes: Inline[]): string =>
  nodes
    .map((node) => {
      if (node.kind === "text") return node.text;
      if (node.kind === "break") return "⏎";
      if (node.kind === "code") return `‹${node.text}›`;
      if (node.kind === "link") return `${node.image ? "image" : "link"}(${node.address} ${shown(node.inside)})`;
      return `${node.kind}(${shown(node.inside)})`;
    })
    .join("");
const read = (text: string): string => shown(inlineOf(text));

test("emphasis", () => {
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

test("code is taken as it is", () => {
  assert.equal(read("`a*b*` ``x ` y`` `**`"), "‹a*b*› ‹x ` y› ‹**›");
  assert.equal(read("`open *b*"), "`open emphasis(b)");
});

test("links lead to the web or a mailbox, and to nothing else", () => {
  assert.equal(read('[a *b*](https://example.com/x_(y) "t")'), "link(https://example.com/x_(y) a emphasis(b))");
  assert.equal(
    read("<mailto:a@example.com> https://example.com/a."),
    "link(mailto:a@example.com mailto:a@example.com) link(https://example.com/a https://example.com/a).",
  );
  assert.equal(read("[https://example.com](https://example.com)"), "link(https://example.com/ https://example.com)");
  assert.equal(read("![a cat](https://example.com/cat.png)"), "image(https://example.com/cat.png a cat)");
  for (const address of [
    "javascript:alert(1)",
    " JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "//example.com",
    "/console/api/auth/sign-out",
    "blob:x",
    "",
  ]) {
    const nodes = inlineOf(`[x](${address}) ![x](${address}) <${address}>`);
    assert.ok(!JSON.stringify(nodes).includes('"link"'), address);
  }
});

test("tags are text, and a line's end is one", () => {
  assert.equal(read("<script>alert(1)</script> <b>x</b><br>y\nz"), "<script>alert(1)</script> <b>x</b>⏎y⏎z");
  assert.equal(read("&lt;b&gt; &amp;amp; &constructor; &copy; \\*no\\*"), "<b> &amp; &constructor; &copy; *no*");
});

test("who trusts a text says what its addresses become", () => {
  const read = (address: string): string | undefined => (address === "gone" ? undefined : `/in/${address}`);
  assert.deepEqual(inlineOf("[a](b.md) [c](gone)", read), [
    { kind: "link", address: "/in/b.md", image: false, inside: [{ kind: "text", text: "a" }] },
    { kind: "text", text: " " },
    { kind: "text", text: "[" },
    { kind: "text", text: "c](gone)" },
  ]);
});
