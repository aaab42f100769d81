import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { makeSchemas } from "./schema.ts";

test("the console's types are those of the API documents", async () => {
  for (const { file, text } of await makeSchemas()) {
    // Not assert.equal: the difference of two long texts helps nobody.
    assert.ok((await readFile(file, "utf8")) === text, `${file} is old. Write it anew: node console/tools/schema.ts`);
  }
});
