/** Defines a test for each page. The test reports the blocks that were skipped. */
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runPage } from "./run-page.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The number of pages that run at a time. They mostly wait for their platforms. */
const AT_ONCE = 2;

export function definePageTests(files: readonly string[]): void {
  describe("every code block of the page runs and prints the output on the page", { concurrency: AT_ONCE }, () => {
    for (const file of files) {
      test(file, async (t) => {
        for (const line of (await runPage(root, file)).leftOut) t.diagnostic(`left out: ${line}`);
      });
    }
  });
}
