/**
 * Writes the committed API documents: `npx node gateway/src/site/reference/write-api-documents.ts`. A test fails if they are
 * outdated.
 */
import { writeFileSync } from "node:fs";
import { buildDocument } from "@tollgate/api/openapi/document.ts";
import { findMistakes, formatDocument } from "@tollgate/api/openapi/openapi-types.ts";
import { DOCUMENTS } from "./api-documents.ts";

const documents = DOCUMENTS.map(({ file, api }) => ({ file, document: buildDocument(api) }));
const mistakes = documents.flatMap(({ file, document }) =>
  findMistakes(document).map((mistake) => `${file}: ${mistake}`),
);
if (mistakes.length > 0) {
  console.error(`The documents have mistakes; nothing is written:\n${mistakes.join("\n")}`);
  process.exit(1);
}
for (const { file, document } of documents) {
  writeFileSync(new URL(`../../../openapi/${file}`, import.meta.url), formatDocument(document));
  console.log(`wrote gateway/openapi/${file}`);
}
