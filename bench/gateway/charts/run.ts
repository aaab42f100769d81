/** `npm run bench -- charts`: draws the charts of docs/performance.md and writes its table, from the last recorded run. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lastResult } from "../results.ts";
import { pageOf, withPage } from "./page.ts";

const DOCS = fileURLToPath(new URL("../../../docs", import.meta.url));
const DOCUMENT = join(DOCS, "performance.md");

const result = lastResult();
const page = pageOf(result);
for (const [name, svg] of page.pictures) writeFileSync(join(DOCS, "pictures", name), svg);
writeFileSync(DOCUMENT, withPage(readFileSync(DOCUMENT, "utf8"), page));
console.log(
  `docs/performance.md and ${page.pictures.size} charts, from the run of ${result.startedAt} (${result.commit})`,
);
