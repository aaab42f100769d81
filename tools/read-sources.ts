/** Lists the repository's source files, for tools that read imports and exports. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDERS =
  "{api,protocol,terminal,demo-provider,gateway,host,console,bench,chaos,sim,engines,tools,e2e,stage,examples,deploy}";

/** Returns the sources' texts by their paths from the root. */
export function readSources(root: string): Map<string, string> {
  const exclude = (path: string): boolean => /(^|\/)(node_modules|dist|peers|out)(\/|$)/.test(path);
  const files = globSync(`${FOLDERS}/**/*.{ts,tsx,mjs}`, { cwd: root, exclude });
  return new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
}
