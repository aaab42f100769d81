/** Checks that bench/performance.md and its charts show the last recorded run. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readLastResult } from "../result-files.ts";
import { renderPerformancePage, replaceMarkedText } from "./performance-page.ts";

const BENCH = fileURLToPath(new URL("../..", import.meta.url));
const PICTURES = join(BENCH, "../docs/pictures");
const page = renderPerformancePage(readLastResult());
const document = readFileSync(join(BENCH, "performance.md"), "utf8");

test("bench/performance.md contains the figures of the last recorded run (npm run bench -- charts)", () => {
  assert.equal(document, replaceMarkedText(document, page));
});

for (const [name, svg] of page.pictures) {
  test(`docs/pictures/${name} is drawn from the figures of the last recorded run`, () => {
    assert.equal(readFileSync(join(PICTURES, name), "utf8"), svg);
  });
}

test("inserting figures fails for a document without the markers of the generated part", () => {
  assert.throws(() => replaceMarkedText("# Performance\n", page), /no place for it/);
});
