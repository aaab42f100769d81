/** Checks the groups of tests: a pattern that matches no file would silently leave a renamed suite out of its group. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { TEST_GROUPS, TESTS_ON_OLDEST_SERVERS } from "./test-tiers.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Writes out every alternative of the braces in a pattern. */
function alternatives(pattern: string): string[] {
  const braces = /\{([^{}]*)\}/.exec(pattern);
  if (braces === null) return [pattern];
  const [whole, list = ""] = braces;
  return list.split(",").flatMap((each) => alternatives(pattern.replace(whole, () => each)));
}

test("every alternative of every file pattern of a test group matches a test file", () => {
  assert.deepEqual(alternatives("{a,b}/{c,d}.ts"), ["a/c.ts", "a/d.ts", "b/c.ts", "b/d.ts"]);
  const patterns = [
    ...Object.values(TEST_GROUPS).flatMap(({ patterns, exclude = [] }) => [...patterns, ...exclude]),
    ...Object.values(TESTS_ON_OLDEST_SERVERS).flat(),
  ];
  const unmatched = [...new Set(patterns.flatMap(alternatives))].filter(
    (pattern) => globSync(pattern, { cwd: ROOT }).length === 0,
  );
  assert.deepEqual(unmatched, []);
});
