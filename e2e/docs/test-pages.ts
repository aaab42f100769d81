/** Runs a test for each page, which reports the blocks that were left out. */
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runPage } from "./run-page.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Pages mostly wait for their platforms. */
const AT_ONCE = 2;

export function testPages(files: readonly string[]): void {
  describe("every block runs and prints what the page shows", { concurrency: AT_ONCE }, () => {
    for (const file of files) {
      test(file, async (t) => {
        for (const line of (await runPage(root, file)).leftOut) t.diagnostic(`left out: ${line}`);
      });
    }
  });
}
