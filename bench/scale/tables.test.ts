/** Checks that bench/scale/README.md has the computed tables. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { scaleTables } from "./tables.ts";

test("bench/scale/README.md has the tables that `npm run bench -- scale` prints", () => {
  const page = readFileSync(new URL("README.md", import.meta.url), "utf8");
  for (const { title, text } of scaleTables()) assert.ok(page.includes(text), `${title}, as it is now:\n${text}`);
});
