/** Checks that docs/decisions/dependencies.md has a row with a reason for every dependency, and no other rows. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const DOCUMENT = "docs/decisions/dependencies.md";
const LISTS = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];

/** Returns every dependency, with the package.json files that list it. */
function readDependencies(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const exclude = (path: string): boolean => path.includes("node_modules");
  for (const file of globSync("**/package.json", { cwd: root, exclude })) {
    const manifest = JSON.parse(readFileSync(join(root, file), "utf8"));
    for (const name of LISTS.flatMap((list) => Object.keys(manifest[list] ?? {}))) {
      found.set(name, [...(found.get(name) ?? []), file]);
    }
  }
  return found;
}

/** Returns the rows of the document: package, licence, purpose, reason. */
function readRows(): string[][] {
  const rows = readFileSync(join(root, DOCUMENT), "utf8").matchAll(/^\| `([^`]+)` \|([^|]*)\|([^|]*)\|([^|]*)\|$/gm);
  return [...rows].map(([, ...cells]) => cells.map((cell) => cell.trim()));
}

test("docs/decisions/dependencies.md lists every dependency of every package once, with its licence", () => {
  const rows = readRows();
  const dependencies = readDependencies();
  assert.ok(dependencies.size > 30, "the package files were found");
  const missing = [...dependencies].filter(([name]) => rows.filter(([known]) => known === name).length !== 1);
  assert.deepEqual(missing, [], `each of these needs one row in ${DOCUMENT}`);
  const unlicensed = rows.filter(([, licence]) => licence === "");
  assert.deepEqual(unlicensed, []);
});

test("docs/decisions/dependencies.md lists only dependencies that a package has", () => {
  const dependencies = readDependencies();
  const stale = readRows().filter(([name = ""]) => !dependencies.has(name));
  assert.deepEqual(stale, []);
});
