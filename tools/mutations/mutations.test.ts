/** Sources move on: a bug whose place is gone would be planted nowhere, and prove nothing. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { MUTATIONS } from "./mutations.ts";

const sourceOf = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

describe("every bug has one place to be planted in", () => {
  for (const { name, file, find, replace, test: noticed } of MUTATIONS) {
    test(name, () => {
      assert.equal(sourceOf(file).split(find).length - 1, 1, `places in ${file}`);
      assert.notEqual(find, replace);
      assert.notEqual(sourceOf(noticed), "", "the test that must notice it");
    });
  }

  test("and a name of its own", () => {
    assert.equal(new Set(MUTATIONS.map(({ name }) => name)).size, MUTATIONS.length);
  });
});
