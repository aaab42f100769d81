/** Lists the Markdown files that are guides, and those that every `npm test` runs. */
import { globSync } from "node:fs";

/** The first page for each kind of reader. `npm test` runs these pages; the other pages run every night. */
export const QUICK_STARTS: readonly string[] = [
  "README.md",
  "docs/start.md",
  "docs/builders/quickstart.md",
  "docs/hosts/quickstart.md",
  "docs/operators/quickstart.md",
];

/**
 * Returns the README and every guide in docs/, by their paths from the root. docs/decisions/ is for contributors and
 * left out.
 */
export function guidePages(root: string): string[] {
  const isOther = (path: string): boolean => /^docs\/(decisions|dist)(\/|$)/.test(path);
  return ["README.md", ...globSync("docs/**/*.md", { cwd: root, exclude: isOther }).sort()];
}
