import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buildDocument } from "@tollgate/api/openapi/document.ts";
import { formatDocument } from "@tollgate/api/openapi/openapi-types.ts";
import { DOCUMENTS } from "./api-documents.ts";

for (const { name, file, api } of DOCUMENTS) {
  test(`the committed document of the ${name} matches the API's declaration`, () => {
    const committed = readFileSync(new URL(`../../../openapi/${file}`, import.meta.url), "utf8").split("\n");
    const current = formatDocument(buildDocument(api)).split("\n");
    const at = current.findIndex((line, i) => line !== committed[i]);
    const same = at < 0 && committed.length === current.length;
    const where = `line ${at + 1} is\n  ${committed[at]}\nand should be\n  ${current[at]}`;
    const remedy = "Run: npx node gateway/src/site/reference/write-api-documents.ts, and commit the file.";
    assert.ok(same, `gateway/openapi/${file} is stale. ${remedy}\n${where}`);
  });
}
