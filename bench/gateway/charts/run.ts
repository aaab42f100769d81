/** `npm run bench -- charts`: draws the charts of bench/performance.md and writes its table, from the last recorded run. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readLastResult } from "../result-files.ts";
import { renderPerformancePage, replaceMarkedText } from "./performance-page.ts";

const BENCH = fileURLToPath(new URL("../..", import.meta.url));
const PICTURES = join(BENCH, "../docs/pictures");
const DOCUMENT = join(BENCH, "performance.md");

const result = readLastResult();
const page = renderPerformancePage(result);
for (const [name, svg] of page.pictures) writeFileSync(join(PICTURES, name), svg);
writeFileSync(DOCUMENT, replaceMarkedText(readFileSync(DOCUMENT, "utf8"), page));
console.log(
  `bench/performance.md and ${page.pictures.size} charts, from the run of ${result.startedAt} (${result.commit})`,
);
