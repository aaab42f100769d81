/**
 * Checks that the text that each mutation replaces and the test that must fail still exist, because otherwise the
 * mutation would prove nothing.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { FILLED_IN_PLACEHOLDER, readCodeTexts } from "../words/code-texts.ts";
import { MUTATIONS } from "./mutations.ts";

const sourceOf = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

/** Returns a pattern for a title in which a loop fills in some text: each placeholder matches any text. */
const patternOf = (title: string): RegExp =>
  new RegExp(
    `^${title
      .split(FILLED_IN_PLACEHOLDER)
      .map((part) => RegExp.escape(part))
      .join(".*")}$`,
  );

describe("the text that a mutation replaces occurs exactly once in its file, and its test exists", () => {
  for (const { name, file, find, replace, test: noticed, title } of MUTATIONS) {
    test(name, () => {
      assert.equal(sourceOf(file).split(find).length - 1, 1, `places in ${file}`);
      assert.notEqual(find, replace);
      const { titles } = readCodeTexts(noticed, sourceOf(noticed));
      assert.ok(
        titles.some(({ text }) => patternOf(text).test(title)),
        `${noticed} has a test "${title}"`,
      );
    });
  }

  test("every mutation has a unique name", () => {
    assert.equal(new Set(MUTATIONS.map(({ name }) => name)).size, MUTATIONS.length);
  });
});
