/**
 * `npm run doctest`: runs the code blocks of every guide; `npm run doctest -- docs/start.md …`: of the named guides.
 * Continues after a page that fails, and then exits with 1. Lists the skipped blocks with the reasons.
 */
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { guidePages } from "../../tools/doc-tests/pages.ts";
import { runPage } from "./run-page.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const named = process.argv.slice(2).map((name) => relative(root, resolve(name)));
const missing = named.filter((file) => !existsSync(join(root, file)));
if (missing.length > 0) {
  console.error(`There is no page ${missing.join(", ")}. Name Markdown files, as in: npm run doctest -- docs/start.md`);
  process.exit(2);
}
const failed: string[] = [];
for (const file of named.length > 0 ? named : guidePages(root)) {
  try {
    const { ran, leftOut } = await runPage(root, file);
    console.log(`${file}: ${ran} blocks passed`);
    for (const line of leftOut) console.log(`  left out: ${line}`);
  } catch (error) {
    failed.push(file);
    console.error(`${file}: FAILED\n${(error as Error).message}`);
  }
}
if (failed.length > 0) console.error(`\nfailed: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);
