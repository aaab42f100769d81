import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { hasWildcard, isPattern, isSubject, patternCovers } from "./subject-patterns.ts";

const token = fc.constantFrom("a", "b", "ab", "*");
const pattern = fc
  .tuple(fc.array(token, { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([tokens, open]) => [...tokens, ...(open ? [">"] : [])].join("."));

/** A simple reference implementation: the rule of the NATS documentation, token by token. */
function coversByTokens(outer: string, inner: string): boolean {
  const [p, s] = [outer.split("."), inner.split(".")];
  for (const [i, want] of p.entries()) {
    const have = s[i];
    if (have === undefined) return false;
    if (want === ">") return true;
    if (have === ">" || (want !== "*" && want !== have)) return false;
  }
  return p.length === s.length;
}

describe("NATS subjects", () => {
  test("are accepted only if well-formed", () => {
    for (const text of ["a", "tg.n.node_1", "a.b.c", "$x.~"]) assert.ok(isSubject(text) && isPattern(text), text);
    for (const text of ["*", ">", "a.*", "a.>", "*.b.>"]) assert.ok(!isSubject(text) && isPattern(text), text);
    for (const text of ["", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nb", "ä", "a*", "*a", "a.>.b", ">>", "a.b>"]) {
      assert.ok(!isSubject(text) && !isPattern(text), text);
    }
    assert.equal(hasWildcard("a.*"), true);
    assert.equal(hasWildcard("a.b"), false);
  });

  test("match the patterns that a table of examples lists for them, and no others", () => {
    const table: [string, string, boolean][] = [
      ["a.b", "a.b", true],
      ["a.b", "a.bc", false],
      ["a.bc", "a.b", false],
      ["a.b", "a", false],
      ["a", "a.b", false],
      ["a.*", "a.b", true],
      ["a.*", "a", false],
      ["a.*", "a.b.c", false],
      ["a.*", "a.*", true],
      ["a.*", "a.>", false],
      ["a.>", "a", false],
      ["a.>", "a.b.c", true],
      ["a.>", "a.*.c", true],
      ["a.>", "a.>", true],
      ["tg.n.x", "tg.n.*", false],
      ["tg.n.x", ">", false],
    ];
    for (const [outer, inner, outcome] of table)
      assert.equal(patternCovers(outer, inner), outcome, `${outer} / ${inner}`);
  });

  test("match like a simple token-by-token comparison", () => {
    fc.assert(
      fc.property(pattern, pattern, (outer, inner) => {
        assert.equal(patternCovers(outer, inner), coversByTokens(outer, inner));
      }),
      { numRuns: 2000 },
    );
  });
});
