/** Tests which outputs match a page's output block, and how differences are printed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatSideBySide, matchesOutput } from "./match-output.ts";

test("compares line by line, ignoring trailing spaces and trailing blank lines", () => {
  assert.ok(matchesOutput("a\n  b\n", "a  \n  b\n\n"));
  for (const [expected, actual] of [
    ["a", "b"],
    ["a", "a\nb"],
    ["a\nb", "a"],
    ["  a", "a"],
    ["a\n\nb", "a\nb"],
    ["", "a"],
  ] as const) {
    assert.ok(!matchesOutput(expected, actual), JSON.stringify([expected, actual]));
  }
});

test("the wildcard … matches any text, but only within a line", () => {
  assert.ok(matchesOutput("id: …, ok", "id: 5, ok"));
  assert.ok(matchesOutput("… b … d", "a b c b d"));
  assert.ok(matchesOutput("a…", "a"));
  assert.ok(matchesOutput("(.*)…", "(.*)x"), "what means something in a regular expression means itself");
  assert.ok(!matchesOutput("a…c", "a\nc"));
  assert.ok(!matchesOutput("a…c", "ab"));
  assert.ok(!matchesOutput(".*…", "abc"));
});

test("the wildcard … alone on a line matches any number of lines, including none", () => {
  assert.ok(matchesOutput("a\n…\nd", "a\nb\nc\nd"));
  assert.ok(matchesOutput("a\n…\nd", "a\nd"));
  assert.ok(matchesOutput("…\nb\nc", "b\nx\nb\nc"), "the first line that fits need not be the one");
  assert.ok(matchesOutput("a\n  …", "a\nb"));
  assert.ok(matchesOutput("…", ""));
  assert.ok(!matchesOutput("a\n…\nd", "a\nb\nc"));
  assert.ok(!matchesOutput("a\n…\nc\nd", "a\nc\nb\nd"));
});

test("a pattern with many wildcards that does not match fails quickly", () => {
  assert.ok(!matchesOutput(`${"…a".repeat(30)}b`, "a".repeat(3000)));
  assert.ok(!matchesOutput("…\na\n".repeat(30), `${"a\n".repeat(3000)}b`));
});

test("prints expected and actual output side by side and marks different lines", () => {
  assert.equal(
    formatSideBySide("one\n…\nthree\nfour", "one\n2\n2b\nthree\nfive\nsix"),
    `  expected | actual
  one      | one
  …        | 2
  …        | 2b
  three    | three
≠ four     | five
≠          | six`,
  );
});

test("an expected line that is missing from the output gets a row of its own, even after a wildcard line", () => {
  assert.equal(
    formatSideBySide("one\n…\nthree", "one\ntwo"),
    "  expected | actual\n  one      | one\n≠ three    |\n≠          | two",
  );
});
