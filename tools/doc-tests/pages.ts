/** Lists the Markdown files that are guides, and those that every `npm test` runs. */
import { globSync } from "node:fs";

/** The first page of each kind of reader: part of `npm test`. The other pages run every night. */
export const QUICK_STARTS: readonly string[] = [
  "README.md",
  "docs/start.md",
  "docs/builders/quickstart.md",
  "docs/hosts/quickstart.md",
  "docs/operators/quickstart.md",
];

/** The README and every guide below docs/, from the root. Decisions are for those who change the sources. */
export function guidePages(root: string): string[] {
  const isOther = (path: string): boolean => /^docs\/(decisions|dist)(\/|$)/.test(path);
  return ["README.md", ...globSync("docs/**/*.md", { cwd: root, exclude: isOther }).sort()];
}
