import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readSources } from "./read-sources.ts";
import { findDeadExports } from "./unused-exports.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Files whose exports are not imported by name: replacements of packages (vite.config.ts), modules loaded by a computed
 * name, and example code.
 */
const LOOSE = /^console\/src\/ui\/scroll-lock\.tsx|^e2e\/clients\/adapters\/|^examples\//;

test("every export is imported by another file", () => {
  const sources = readSources(root);
  assert.ok(sources.size > 500, "the sources were found");
  const dead = findDeadExports(sources).filter((name) => !LOOSE.test(name));
  assert.deepEqual(dead, [], "take the `export` away, or the code");
});

test("finds an export that only its own file uses, and accepts an export that another file uses", () => {
  const sources = new Map([
    ["host/src/a.ts", "export const a = 1;\nexport type B = 1;\nexport interface C {}\nconst d = a;\n"],
    ["host/src/b.ts", 'import { a, type B as Bee } from "./a.ts";\nexport async function dead() {}\n'],
    ["host/src/c.ts", "export class Whole {}\n"],
    ["host/src/d.ts", 'await import("./c.ts");\nnew Worker(new URL("./e.ts", import.meta.url));\n'],
    ["host/src/e.ts", "export const worker = 1;\n"],
    ["protocol/src/f.ts", "export const far = 1;\n"],
    ["gateway/src/g.ts", 'import { far } from "@tollgate/protocol/f.ts";\n'],
  ]);
  assert.deepEqual(findDeadExports(sources), ["host/src/a.ts › C", "host/src/b.ts › dead"]);
});
