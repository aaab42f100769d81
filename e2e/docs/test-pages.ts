/** A test for each page, which names what it left out. */
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runPage } from "./run-page.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

export function testPages(files: readonly string[]): void {
  for (const file of files) {
    test(`${file}: every block runs and prints what the page says`, async (t) => {
      for (const line of (await runPage(root, file)).leftOut) t.diagnostic(`left out: ${line}`);
    });
  }
}
