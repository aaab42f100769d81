/** Checks that the text that each planted bug replaces still exists in the sources. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { MUTATIONS } from "./mutations.ts";

describe("the text of each planted bug matches exactly one place in the sources", () => {
  for (const { name, file, find, replace } of MUTATIONS) {
    test(name, () => {
      const source = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
      assert.equal(source.split(find).length - 1, 1, `places in ${file}`);
      assert.notEqual(find, replace);
    });
  }

  test("each planted bug has a unique name", () => {
    assert.equal(new Set(MUTATIONS.map(({ name }) => name)).size, MUTATIONS.length);
  });
});
