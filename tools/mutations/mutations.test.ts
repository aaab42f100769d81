/**
 * Checks that each mutation's text and test still exist in the sources, because a mutation without them would prove
 * nothing.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { FILLED_IN, readCode } from "../words/code.ts";
import { MUTATIONS } from "./mutations.ts";

const sourceOf = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

/** A pattern for titles that a loop fills in. */
const patternOf = (title: string): RegExp =>
  new RegExp(
    `^${title
      .split(FILLED_IN)
      .map((part) => RegExp.escape(part))
      .join(".*")}$`,
  );

describe("every mutation's text occurs exactly once in its file, and its test exists", () => {
  for (const { name, file, find, replace, test: noticed, title } of MUTATIONS) {
    test(name, () => {
      assert.equal(sourceOf(file).split(find).length - 1, 1, `places in ${file}`);
      assert.notEqual(find, replace);
      const { titles } = readCode(noticed, sourceOf(noticed));
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
